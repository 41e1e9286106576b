"""Folders of configuration that a policy declares, and how what is written there is read."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from shared.domain.verdict import Verdict, VerdictKind


@dataclass(frozen=True, slots=True)
class Configured:
    """Files whose paths are of the form `files`, a regular expression.

    `language` names how their texts are read. `tests` are commands of which one has to test a
    change; none if each line says what it does. `fragments`: lines may be added and edited alone.
    """

    files: str
    language: str
    tests: tuple[str, ...] = ()
    fragments: bool = False

    def holds(self, path: str) -> bool:
        """Whether the file is one of them."""
        return re.fullmatch(self.files, path) is not None


@dataclass(frozen=True, slots=True)
class Change:
    """A file whose change has to be tested, by one of the commands of `tests`."""

    path: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Configuring:
    """What a command changes of the configuration, keeps a way back for, and tests.

    `placed` are the files of which all that the command writes may be written; `refused` says why
    others may not, by path. `code` is one of them that runs what lies in a folder of a project.
    `removed` are files of configuration, if the command does nothing but remove them. `commands`
    are those that the files of `placed` run later.
    """

    placed: frozenset[str] = frozenset()
    refused: dict[str, str] = field(default_factory=dict, hash=False)
    changes: tuple[Change, ...] = ()
    kept: frozenset[str] = frozenset()
    ran: tuple[str, ...] = ()
    code: str = ""
    removed: frozenset[str] = frozenset()
    commands: tuple[str, ...] = ()

    def unsettled(self, others: Iterable["Configuring"]) -> Verdict | None:
        """What asks because neither this command nor the others keep a way back, or test it."""
        every = (self, *others)
        for change in self.changes:
            kept = any(_covers(one.kept, change.path) for one in every)
            tested = any(text.startswith(change.tests) for one in every for text in one.ran)
            if kept and tested:
                continue
            test = change.tests[0]
            lacks = [] if kept else [f"keeps a copy (`cp -p {change.path} {change.path}.bak`)"]
            lacks += [] if tested else [f"tests it (`{test}`)"]
            told = f"it changes {change.path}, and nothing in the plan {' or '.join(lacks)}"
            return Verdict(VerdictKind.APPROVE, "configuration", told, change.path)
        return None


def _covers(kept: frozenset[str], path: str) -> bool:
    """Whether a file or a folder above it is among those that are kept."""
    return any(path == one or path.startswith(f"{one}/") for one in kept)
