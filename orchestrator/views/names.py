"""The names that a person may want to type, and nothing else of what they name."""

from sqlalchemy import Connection, text

_NEWEST_TASKS = text("SELECT 'T' || id FROM tasks ORDER BY id DESC LIMIT 50")
_NEWEST_FIXES = text("SELECT 'F' || id FROM fixes ORDER BY id DESC LIMIT 50")
_OPEN_INTERVENTIONS = text(
    "SELECT 'I' || id FROM interventions WHERE closed_at IS NULL ORDER BY id LIMIT 50"
)
_HOSTS = text("SELECT name FROM hosts ORDER BY name")
_REPOSITORIES = text("SELECT name FROM repositories ORDER BY name")


def newest_tasks(connection: Connection) -> tuple[str, ...]:
    """The newest tasks, `T12`, at most 50."""
    return tuple(connection.execute(_NEWEST_TASKS).scalars())


def newest_fixes(connection: Connection) -> tuple[str, ...]:
    """The newest fixes, `F7`, at most 50."""
    return tuple(connection.execute(_NEWEST_FIXES).scalars())


def open_interventions(connection: Connection) -> tuple[str, ...]:
    """The oldest interventions that are open, `I7`, at most 50."""
    return tuple(connection.execute(_OPEN_INTERVENTIONS).scalars())


def host_names(connection: Connection) -> tuple[str, ...]:
    """The enrolled hosts."""
    return tuple(connection.execute(_HOSTS).scalars())


def repository_names(connection: Connection) -> tuple[str, ...]:
    """The repositories."""
    return tuple(connection.execute(_REPOSITORIES).scalars())
