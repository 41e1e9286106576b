"""Deliveries on the host of their repository: made, judged, merged and published."""
