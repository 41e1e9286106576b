"""What workers run: everything that carries out jobs."""
