"""Connections to Postgres are made in one place, so that every one of them is bounded."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = "shared/store/connection.py"
MAKERS = {
    "psycopg": {"connect", "Connection", "AsyncConnection"},
    "sqlalchemy": {"create_engine", "engine_from_config", "create_pool_from_url"},
    "psycopg_pool": {"ConnectionPool"},
}
"""What makes connections, by library."""

SOURCES = sorted(
    path
    for package in ("shared", "orchestrator", "workers")
    for path in (ROOT / package).rglob("*.py")
)


def makers(path: Path) -> set[str]:
    """What a module uses that makes connections; a type in an annotation makes none."""
    source = path.read_text(encoding="utf-8")
    if not any(library in source for library in MAKERS):
        return set()
    tree = ast.parse(source)
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for outer in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if isinstance(outer, ast.AST)
        for inner in ast.walk(outer)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in MAKERS:
            found |= {alias.name for alias in node.names} & MAKERS[node.module] - {"Connection"}
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in MAKERS.get(node.value.id, ())
            and id(node) not in annotations
        ):
            found.add(node.attr)
    return found


def test_nobody_else_makes_a_connection() -> None:
    found = {path.relative_to(ROOT).as_posix(): makers(path) for path in SOURCES}
    assert found.pop(PLACE) >= {"create_engine", "Connection"}
    assert {module: names for module, names in found.items() if names} == {}
