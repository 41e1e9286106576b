"""The shell language: from text to the programs that it runs."""
