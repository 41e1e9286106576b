"""The command line: reads views, posts facts; it has no powers of its own."""
