"""Deliveries: what code work hands over, and what vouches for it."""
