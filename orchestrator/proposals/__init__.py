"""Rules that are offered to people: the narrowest that would have answered a question."""
