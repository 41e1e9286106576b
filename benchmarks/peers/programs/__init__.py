"""Programs run by each peer's own Python: only `brief`, `kept` and the peer itself are imported."""
