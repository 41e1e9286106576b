"""What the Tab key offers: names that the database knows, planners, settings.

Nothing of it is an error: where there is no database, or it does not answer, nothing is offered.
"""

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlsplit

from orchestrator.cli.submit_options import PLANNERS
from shared.domain.errors import ReplanError

PATIENCE = 0.5
"""Seconds in which the database has to answer a knock."""


def hosts(incomplete: str) -> list[str]:
    """The enrolled hosts, and this machine."""
    from shared.domain.host import LOCALHOST

    return _beginning(incomplete, [LOCALHOST.name, *_known("host_names")])


def repositories(incomplete: str) -> list[str]:
    """The repositories in which agents work."""
    return _beginning(incomplete, _known("repository_names"))


def tasks(incomplete: str) -> list[str]:
    """The newest tasks."""
    return _beginning(incomplete, _known("newest_tasks"))


def interventions(incomplete: str) -> list[str]:
    """What waits for a person."""
    return _beginning(incomplete, _known("open_interventions"))


def fixes(incomplete: str) -> list[str]:
    """The newest fixes that worked."""
    return _beginning(incomplete, _known("newest_fixes"))


def planners(incomplete: str) -> list[str]:
    """Who can plan, and the choice among them."""
    return _beginning(incomplete, PLANNERS)


def runbooks(incomplete: str) -> list[str]:
    """The jobs that are known without a model."""
    from orchestrator.acts.runbooks import runbook_names
    from shared.settings import load_settings

    with suppress(ReplanError):
        return _beginning(incomplete, runbook_names(load_settings(os.environ, None)))
    return []


def settings(incomplete: str) -> list[str]:
    """The keys of all settings."""
    from shared.settings import KEYS

    return _beginning(incomplete, KEYS)


def task_settings(incomplete: str) -> list[str]:
    """The keys of what can be set for a task, as they are typed there."""
    from shared.settings import KEYS, KeyScope

    keys = [name for name, key in KEYS.items() if key.scope is KeyScope.AGENT]
    return [f"{key}=" for key in _beginning(incomplete, keys)]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _known(view: str) -> tuple[str, ...]:
    """What that view of `views.names` tells; SQLAlchemy loads only once the database is there."""
    from shared.settings import load_settings

    with suppress(ReplanError):
        found = load_settings(os.environ, None)
        if not _answers(found.server.database_url):
            return ()
        from orchestrator.acts.caller import Caller
        from orchestrator.views import names

        with Caller.of_account(found).reading("task.list") as connection:
            told: tuple[str, ...] = getattr(names, view)(connection)
            return told
    return ()


def _answers(url: str) -> bool:
    """Whether somebody listens there; a socket in a folder is not knocked at."""
    with suppress(OSError, ValueError):
        place = urlsplit(url)
        if place.hostname is None:
            return True
        with socket.create_connection((place.hostname, place.port or 5432), PATIENCE):
            return True
    return False
