"""Kernels compile on first use, so a single example may take seconds: examples have no deadline."""

from hypothesis import settings

settings.register_profile("pcache", deadline=None, max_examples=100, print_blob=True)
settings.load_profile("pcache")
