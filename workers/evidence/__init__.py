"""What failed attempts show: their class, wrong assumptions, and what was tried."""
