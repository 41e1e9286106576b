"""How the two sides reach the broker; the broker is a doorbell, never the record."""
