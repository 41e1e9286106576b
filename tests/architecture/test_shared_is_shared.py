"""`shared` is a treaty, not a toolbox: what lives there is used by both sides."""

from typing import Final

import grimp

PACKAGES: Final = ("orchestrator", "workers", "shared")

# Loaded by Alembic by their place, imported by nobody.
BY_PLACE: Final = ("shared.store.migrations",)

# Modules that one side does not need yet. Each line is a debt: take it out as soon as both
# sides use the module, or move the module to the side that does. It has to end up empty.
WAITING: Final[frozenset[str]] = frozenset()


def one_sided() -> set[str]:
    """The modules of `shared` that one side does not reach by any chain of imports."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    left, right = (
        graph.find_upstream_modules(side, as_package=True) for side in ("orchestrator", "workers")
    )
    modules = {module for module in graph.modules if module.startswith("shared.")}
    packages = {module for module in modules if graph.find_children(module)}
    return {
        module for module in modules - packages - (left & right) if not module.startswith(BY_PLACE)
    }


def test_what_is_shared_is_used_by_both_sides() -> None:
    """Directly or through another module of `shared`."""
    assert one_sided() - WAITING == set()


def test_nothing_waits_that_need_not() -> None:
    """The list of exceptions holds no module that both sides use by now."""
    assert WAITING - one_sided() == set()
