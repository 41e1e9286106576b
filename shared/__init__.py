"""The treaty between orchestrator and workers: a module lives here only if both sides import it."""
