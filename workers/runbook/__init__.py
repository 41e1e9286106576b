"""The offline planner: a library of known jobs, with an alternative for each known error."""
