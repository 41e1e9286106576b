"""Where values of secrets are kept, and how they are fetched."""
