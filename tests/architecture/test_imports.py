"""Each library has a door: the few modules that know it, so that the others need not."""

from fnmatch import fnmatch
from graphlib import TopologicalSorter
from typing import Final

import grimp
import pytest

PACKAGES: Final = ("orchestrator", "workers", "shared")

# Library: the modules that may import it.
DOORS: Final = {
    "celery": (
        "shared.queue.*",
        "*.tasks",
        "*.wiring",
        "workers.run",
        "workers.process.consumer",
        "workers.process.messages",
    ),
    "kombu": ("shared.queue.*",),
    "redis": ("shared.queue.*", "orchestrator.embedded.valkey"),
    "paramiko": (
        "orchestrator.access.ssh_agent",
        "workers.shells.remote.*",
    ),
    "anthropic": ("workers.llm.*",),
    "openai": ("workers.llm.*",),
    "alembic": ("shared.store.*",),
    "psycopg": ("shared.store.*", "orchestrator.embedded.postgres"),
    "sqlalchemy": (
        "shared.store.*",
        "orchestrator.store",
        "orchestrator.access.*",
        "orchestrator.acts.caller",
        "orchestrator.acts.curating",
        "orchestrator.history",
        "orchestrator.learning",
        "orchestrator.losses",
        "orchestrator.silent_sessions",
        "orchestrator.acts.submission",
        "orchestrator.outbox",
        "orchestrator.rows",
        "orchestrator.views.*",
        "orchestrator.waiting_jobs",
        "workers.acceptances",
        "workers.agent_history",
        "workers.deliveries.checkpoint_rows",
        "workers.deliveries.worktree_rows",
        "workers.findings",
        "workers.provenance",
        "workers.sessions",
        "workers.store",
    ),
    "ahocorasick_rs": ("shared.secrets.*",),
    "keyring": ("shared.secrets.vaults.*",),
    "obstore": ("shared.deliveries.bucket",),
    "typer": ("orchestrator.cli.*", "workers.__main__"),
}

# Deciding, prompting and reading answers are functions of their arguments alone.
PURE: Final = (
    "shared.domain*",
    "orchestrator.core*",
    "workers.llm.prompts",
    "workers.llm.parsing",
    "workers.llm.texts",
)
OUTSIDE_WORLD: Final = {
    "asyncio", "ctypes", "io", "logging", "multiprocessing", "os", "pathlib",
    "random", "secrets", "shutil", "signal", "socket", "subprocess", "sys", "tempfile",
    "threading", "time", "urllib",
}  # fmt: skip
PURE_LIBRARIES: Final = {*DOORS, "pydantic", "yaml", "structlog", "rich", "tornado", "flower"}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Who imports whom, libraries included."""
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


@pytest.mark.parametrize("library", sorted(DOORS))
def test_a_library_is_imported_only_at_its_door(graph: grimp.ImportGraph, library: str) -> None:
    """A module outside that wants it asks for a port instead."""
    if library not in graph.modules:
        return
    importers = graph.find_modules_that_directly_import(library)
    strangers = {
        module for module in importers if not any(fnmatch(module, door) for door in DOORS[library])
    }
    assert strangers == set()


def test_what_is_pure_touches_nothing(graph: grimp.ImportGraph) -> None:
    """No clock, no file, no process, no library."""
    pure = {name for name in graph.modules if any(fnmatch(name, pattern) for pattern in PURE)}
    assert {"shared.domain.errors", "orchestrator.core.machine"} <= pure
    found = {
        (module, imported)
        for module in pure
        for imported in graph.find_modules_directly_imported_by(module)
        if imported in OUTSIDE_WORLD | PURE_LIBRARIES
    }
    assert found == set()


def test_no_module_is_imported_by_what_it_imports(graph: grimp.ImportGraph) -> None:
    """No circle, not even one that is closed inside a function."""
    ours = [name for name in graph.modules if name.split(".")[0] in PACKAGES]
    imports = {name: graph.find_modules_directly_imported_by(name) for name in ours}
    TopologicalSorter(imports).prepare()  # raises CycleError, with the circle
