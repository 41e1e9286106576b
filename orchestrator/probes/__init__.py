"""Asking a worker process about hosts and models: the orchestrator speaks to neither itself."""
