"""Faces parse what is given and render what comes of it; everything else is an act or a view."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import grimp

ROOT: Final = Path(__file__).parents[2]
FACES: Final = ("orchestrator.cli", "orchestrator.web", "orchestrator.notify", "orchestrator.mcp")

# All that a face may import of ours: what is not named here is an act's, or a view's, to use.
OF_A_FACE: Final = (
    *("orchestrator.acts.*", "orchestrator.views.*", "orchestrator.words.*"),
    "orchestrator.envelope",
    "orchestrator.export.*",
    *("orchestrator.access.actor", "orchestrator.access.chain", "orchestrator.access.roles"),
    "orchestrator.access.tokens",
    # what only an account on the machine can do: it starts processes, and looks at them
    *("orchestrator.embedded.*", "orchestrator.wiring", "orchestrator.process_command"),
    *("orchestrator.doctor", "orchestrator.probes.*"),
    *("shared.domain.*", "shared.contracts.*", "shared.settings", "shared.wire", "shared.logs"),
    *("shared.secrets.*", "shared.visible"),
)
OPENS: Final = {"at_once", "autocommit", "begin", "connect", "execute", "listen"}
"""What reaches a database without `Caller.reading`."""


def modules(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    """Every module of these packages that there are, by its name."""
    for package in packages:
        for path in sorted((ROOT / package.replace(".", "/")).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def test_a_face_imports_nothing_that_acts_or_looks_for_itself() -> None:
    graph = grimp.build_graph("orchestrator", "workers", "shared", cache_dir=None)
    found = {
        (face, imported)
        for face in graph.modules
        if face.startswith(FACES)
        for imported in graph.find_modules_directly_imported_by(face)
        if not imported.startswith(FACES)
        and not any(fnmatch(imported, allowed) for allowed in OF_A_FACE)
    }
    assert found == set()


def test_a_face_reads_only_where_a_role_was_asked_for() -> None:
    """No import says that a connection, which somebody else has opened, is used for more."""
    found = {
        (name, node.func.attr)
        for name, tree in modules(*FACES)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in OPENS
    }
    assert found == set()


def test_only_a_caller_asks_for_a_role() -> None:
    """One place, so that no face can forget it or ask in another way."""
    askers = {
        name
        for name, tree in modules("orchestrator")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "orchestrator.access.roles"
        and any(each.name == "require" for each in node.names)
    }
    assert askers == {"orchestrator.acts.caller"}
