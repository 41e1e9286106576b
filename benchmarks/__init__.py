"""Side-by-side measurements: each figure stands beside its floor, taken in the same run."""
