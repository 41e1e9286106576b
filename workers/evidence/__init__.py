"""What failed attempts say: their kind, what was wrongly assumed, what was tried."""
