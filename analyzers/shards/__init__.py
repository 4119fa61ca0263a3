"""Logs larger than a machine: read in shards and slices, made into pieces, merged to one Trace."""
