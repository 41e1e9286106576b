"""The functional core: what is true, and what follows from a fact; standard library only."""
