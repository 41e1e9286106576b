"""Adds rules to a policy file that people write: nothing else in it changes, no comment is lost."""

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml


class ScopeKind(StrEnum):
    """For what a rule holds."""

    TASK = "task"
    HOST = "host"
    GROUP = "group"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class RuleScope:
    """For what a rule holds: a task, a host or a group of that name, or every host of the site."""

    kind: ScopeKind
    name: str = ""

    def __str__(self) -> str:
        """As people write it: `group:web`."""
        return f"{self.kind}:{self.name}" if self.name else self.kind.value


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules as a policy file has them, why they are there, and the texts that they must allow."""

    reason: str
    rules: tuple[Mapping[str, object], ...]
    allow: tuple[str, ...]
    approve: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """The group as the reader of YAML returns it."""
        said: dict[str, Any] = {"reason": self.reason, "rules": [dict(each) for each in self.rules]}
        tests = {"allow": [*self.allow], "approve": [*self.approve]}
        return said | {verdict: texts for verdict, texts in tests.items() if texts}

    def lines(self) -> list[str]:
        """The group as an item of `allow`, without the indentation of the list."""
        said = [f"- reason: {scalar(self.reason)}", "  rules:"]
        said += [f"    - {_flow(rule)}" for rule in self.rules]
        for verdict, texts in (("allow", self.allow), ("approve", self.approve)):
            if texts:
                said += [f"  {verdict}:", *(f"    - {scalar(text)}" for text in texts)]
        return said


class NotEditableError(Exception):
    """The file is written in a way in which nothing can be added; the message says why."""


def policy_text(
    levels: Mapping[RuleScope, Sequence[RuleGroup]], hosts: Mapping[str, Sequence[str]]
) -> str:
    """A policy of these rules alone; `hosts` are those of each group."""
    said: list[str] = []
    for kind, key in ((ScopeKind.SITE, ""), (ScopeKind.GROUP, "groups"), (ScopeKind.HOST, "hosts")):
        chosen = {scope: groups for scope, groups in levels.items() if scope.kind is kind}
        for number, (scope, groups) in enumerate(chosen.items()):
            lines = fragment(scope, groups, hosts.get(scope.name, ())).splitlines()
            said += lines[1:] if key and number else lines
    return "\n".join(said) + "\n"


def fragment(scope: RuleScope, groups: Sequence[RuleGroup], hosts: Sequence[str] = ()) -> str:
    """A policy of these rules alone, for a person to copy; `hosts` are those of a group."""
    allow = ["allow:", *(f"  {line}" for group in groups for line in group.lines())]
    match scope.kind:
        case ScopeKind.GROUP:
            own = [f"hosts: {_flow(list(hosts))}"] if hosts else []
            said = ["groups:", f"  {scalar(scope.name)}:", *_indented(4, [*own, *allow])]
        case ScopeKind.HOST:
            said = ["hosts:", f"  {scalar(scope.name)}:", *_indented(4, allow)]
        case _:
            said = allow
    return "\n".join(said) + "\n"


def with_group(text: str, scope: RuleScope, group: RuleGroup) -> str:
    """The text of a policy file with one more group of rules.

    Raises NotEditableError if the level is not in it, or is written on one line.
    """
    data = yaml.safe_load(text)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise NotEditableError("the file is not a mapping with one key on each line")
    lines = text.removesuffix("\n").split("\n")
    at, added = _addition(root, scope, group)
    if at in range(len(lines)) and lines[at].rstrip().endswith("[]") and added[0] == "":
        lines[at] = lines[at].rstrip()[:-2].rstrip()
        added = added[1:]
    edited = "\n".join([*lines[: at + 1], *added, *lines[at + 1 :]]) + "\n"
    if yaml.safe_load(edited) != _expected(data, scope, group):
        raise NotEditableError("its layout is not understood")
    return edited


@contextmanager
def staged(path: Path, text: str, before: str) -> Iterator["StagedFile"]:
    """The new text beside the file, for checking it; it replaces the file when it is `put`.

    Raises OSError when the folder cannot be written to, and NotEditableError if the file no longer
    holds the text `before`.
    """
    target = path.resolve()
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if target.read_text(encoding="utf-8") != before:
            raise NotEditableError("somebody has changed it meanwhile")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".policy-", suffix=".yaml")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                os.fchmod(file.fileno(), target.stat().st_mode & 0o777)
                file.flush()
                os.fsync(file.fileno())
            yield StagedFile(Path(name), target)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that is ready to replace another in one step."""

    path: Path
    target: Path

    def put(self) -> None:
        """Replace the file."""
        with suppress(PermissionError):  # only the superuser gives files away
            os.chown(self.path, self.target.stat().st_uid, self.target.stat().st_gid)
        self.path.replace(self.target)


def scalar(text: str) -> str:
    """A text as YAML has it on one line."""
    style = '"' if "\n" in text else None
    shown = yaml.safe_dump(
        [text], default_flow_style=True, width=10**9, allow_unicode=True, default_style=style
    )
    return str(shown).strip()[1:-1]


def _flow(said: object) -> str:
    shown = yaml.safe_dump(
        said, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False
    )
    return str(shown).strip()


def _indented(by: int, lines: Sequence[str]) -> list[str]:
    return [" " * by + line for line in lines]


def _addition(root: yaml.MappingNode, scope: RuleScope, group: RuleGroup) -> tuple[int, list[str]]:
    """The line after which something is added, and what; a first empty line replaces `[]`."""
    if scope.kind is ScopeKind.SITE:
        return _to_level(root, group)
    key = "groups" if scope.kind is ScopeKind.GROUP else "hosts"
    listed = _value(root, key)
    level = _value(listed, scope.name) if isinstance(listed, yaml.MappingNode) else None
    if isinstance(level, yaml.MappingNode) and not level.flow_style:
        return _to_level(level, group)
    if level is not None:
        raise NotEditableError(f"{key}.{scope.name} is written on one line")
    if scope.kind is ScopeKind.GROUP:
        raise NotEditableError(f"it has no group {scope.name}")
    allow = ["allow:", *_indented(2, group.lines())]
    entry = [f"{scalar(scope.name)}:", *_indented(2, allow)]
    if listed is None:
        return _last_line(root), [f"{key}:", *_indented(2, entry)]
    if not isinstance(listed, yaml.MappingNode) or listed.flow_style:
        raise NotEditableError(f"{key} is written on one line")
    return _last_line(listed), _indented(listed.start_mark.column, entry)


def _to_level(level: yaml.MappingNode, group: RuleGroup) -> tuple[int, list[str]]:
    listed = _value(level, "allow")
    column = level.start_mark.column
    if listed is None:
        allow = ["allow:", *_indented(2, group.lines())]
        return _last_line(level), _indented(column, allow)
    if not isinstance(listed, yaml.SequenceNode):
        raise NotEditableError("its `allow` is not a list")
    if not listed.value:
        return listed.start_mark.line, ["", *_indented(column + 2, group.lines())]
    if listed.flow_style:
        raise NotEditableError("its `allow` is written on one line")
    return _last_line(listed), _indented(listed.start_mark.column, group.lines())


def _value(mapping: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(mapping, yaml.MappingNode):
        return None
    return next((value for name, value in mapping.value if name.value == key), None)


def _last_line(node: yaml.Node) -> int:
    """The last line of a node; the marks of block collections lie behind comments after them."""
    if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
        return max(_last_line(part) for pair in node.value for part in pair)
    if isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style:
        return max(map(_last_line, node.value))
    mark = node.end_mark
    return int(mark.line - (mark.column == 0 and mark.line > node.start_mark.line))


def _expected(data: Any, scope: RuleScope, group: RuleGroup) -> Any:
    """What the file must say afterwards."""
    if scope.kind is ScopeKind.SITE:
        return {**data, "allow": [*(data.get("allow") or ()), group.data()]}
    key = "groups" if scope.kind is ScopeKind.GROUP else "hosts"
    levels = data.get(key) or {}
    level = levels.get(scope.name) or {}
    changed = {**level, "allow": [*(level.get("allow") or ()), group.data()]}
    return {**data, key: {**levels, scope.name: changed}}
