"""From request logs and prompt templates to a Trace and to findings."""
