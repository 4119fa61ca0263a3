"""A Trace under a cache: sweeps, replays, engines, providers, latency, prices, cost."""
