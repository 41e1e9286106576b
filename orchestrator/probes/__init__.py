"""Asking a worker process about hosts and models: the orchestrator talks to neither."""
