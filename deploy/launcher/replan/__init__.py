"""What Python finds of replan when it is installed: this name alone.

The wheel holds the folders `orchestrator`, `workers` and `shared` below this package, so that they
are nobody's top-level names but those of replan's own processes, which begin in `__main__`.
"""
