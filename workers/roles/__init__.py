"""What each queue's jobs ask for: one module for each role."""
