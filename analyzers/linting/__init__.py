"""A run of the linter: which files, what of their findings is new, what to rewrite, what a change invalidates."""
