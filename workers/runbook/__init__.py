"""The offline planner: a library of known jobs, with recorded alternatives per error pattern."""
