"""The words that faces show of values: messages, the report, and what waits for a person."""
