"""The roles: what workers do for the jobs of each queue, one module for each role."""
