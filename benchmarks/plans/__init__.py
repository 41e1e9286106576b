"""The quality bench: broken hosts, and what puts them right."""
