"""What orchestrator and workers share: a module lives here only if both sides import it."""
