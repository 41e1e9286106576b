"""Which files hold tests, and what is in them, for the languages that are known."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Case:
    """A test: how many assertions it makes, and its text without its name."""

    assertions: int
    body: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """What a test file holds: its tests by their names, and all assertions in it.

    `skips` counts what keeps tests from counting: marks that skip them, or let them fail;
    `shutouts` what keeps others from running, such as `.only`.
    """

    cases: Mapping[str, Case] = field(default_factory=dict)
    assertions: int = 0
    skips: int = 0
    shutouts: int = 0


Read = Callable[[str], "Suite | None"]
"""Reads the text of a test file; None if it cannot be read as a program."""

_FOLDERS: Final = frozenset(
    {"test", "tests", "__tests__", "spec", "specs", "e2e", "testdata", "__snapshots__"}
)
_NAMES: Final = re.compile(
    r"""
    test_.*\.(?:py|rb|sh|bash|c|cc|cpp|lua)
    | .*_tests?\.(?:py|go|rb|rs|exs?|dart|c|cc|cpp|sh|bash|lua)
    | tests?\.(?:py|rs|sh|js|ts)
    | conftest\.py
    | .*\.(?:test|spec|cy|e2e)\.[cm]?[jt]sx?
    | .*_spec\.(?:rb|lua)
    | .*\.(?:bats|feature|snap)
    | test.*\.sh
    """,
    re.VERBOSE,
)
_CLASSES: Final = re.compile(
    r"(?:Test[A-Z0-9]\w*|\w+(?:Tests?|TestCase|IT|Spec))"
    r"\.(?:java|kt|kts|groovy|scala|cs|fs|vb|php|swift)"
)
_RUST: Final = re.compile(r"#\[(?:cfg\(test\)|(?:\w+::)*test\b)")


def is_test(path: str, content: bytes | None = None) -> bool:
    """Whether the file holds tests, or data of tests, by its path; in Rust by its content, too."""
    *folders, name = path.split("/")
    if not _FOLDERS.isdisjoint(folder.casefold() for folder in folders):
        return True
    if _NAMES.fullmatch(name.casefold()) or _CLASSES.fullmatch(name):
        return True
    in_rust = name.endswith(".rs") and content is not None
    return in_rust and _RUST.search((content or b"").decode(errors="replace")) is not None
