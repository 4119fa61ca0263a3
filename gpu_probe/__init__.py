"""A real model on this machine: prefill, keep and restore KV, fit, verify."""
