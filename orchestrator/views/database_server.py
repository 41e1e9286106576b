"""What the database's server says of itself: its clock, and the folder of its data."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

_SERVER = text("""
    SELECT extract(epoch FROM clock_timestamp())::float8 AS now,
           coalesce(inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1', true)
               AS loopback,
           (SELECT setting FROM pg_settings WHERE name = 'data_directory') AS folder
""")


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """`now` is its clock, in seconds since 1970.

    `folder` is where its data is if that may be on this machine, and if we may know.
    """

    now: float
    folder: str | None


def database_server(connection: Connection) -> DatabaseServer:
    """Ask the server; it answers within one round trip."""
    row = connection.execute(_SERVER).one()
    return DatabaseServer(row.now, row.folder if row.loopback else None)
