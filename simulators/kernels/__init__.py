"""Compiled kernels of this package: plain arrays in, plain arrays out. Each has a slow twin in the tests."""
