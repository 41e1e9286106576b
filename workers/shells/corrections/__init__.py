"""Local, rule-made changes to a command between two attempts (S0.36–S0.43)."""
