"""The results that a tool without a store of its own has to keep: a row and a commit for each."""

import psycopg

TABLE = """
    CREATE TABLE IF NOT EXISTS kept (
        id bigserial PRIMARY KEY, host text, command text, exit_code int, output text,
        at timestamptz DEFAULT clock_timestamp()
    )
"""
ROW = "INSERT INTO kept (host, command, exit_code, output) VALUES (%s, %s, %s, %s)"


class Kept:
    """One connection to the database; not to be shared by threads.

    `url` is a libpq URL of a database that `prepare` was called for.
    """

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    @staticmethod
    def prepare(url: str) -> None:
        """Make the table; call it once, before there are several connections."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(TABLE)

    def add(self, host: str, command: str, exit_code: int, output: str = "") -> None:
        """One result; it is on the disk when this returns."""
        self._connection.execute(ROW, (host, command, exit_code, output))

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()
