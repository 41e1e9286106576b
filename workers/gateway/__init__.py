"""The model gateway: what agents ask models goes through it, metered, capped and without a key."""
