"""Programs that run other programs, or hold code in their arguments."""
