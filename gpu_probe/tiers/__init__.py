"""Places where KV is kept: one file a place, each with the interface of `base.Tier`."""
