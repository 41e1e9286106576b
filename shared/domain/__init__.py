"""Values and pure rules; standard library only."""
