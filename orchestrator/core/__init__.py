"""The functional core: states, and what follows from a fact; standard library only."""
