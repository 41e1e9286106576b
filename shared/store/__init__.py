"""How the two sides reach the database; rows never leave it."""
