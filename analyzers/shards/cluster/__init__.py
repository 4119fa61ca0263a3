"""A log in shards on many machines: tasks that read, what they send each other, and the trace made of it."""
