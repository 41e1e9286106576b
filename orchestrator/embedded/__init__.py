"""A real Postgres and a real Valkey on one machine, as supervised children of this process."""
