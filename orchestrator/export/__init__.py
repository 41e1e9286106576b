"""What a finished task can be turned into."""
