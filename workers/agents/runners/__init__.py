"""Programs that carry out the work of an agent, one module for each."""
