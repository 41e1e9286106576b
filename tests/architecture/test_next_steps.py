"""Whatever this program tells a person to type is a verb that it has, with what the verb takes."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.cli.main import build

ROOT = Path(__file__).parents[2]
COMPUTED = "orchestrator/envelope.py"
"""The one place that makes a step of a verb that it does not know: its help."""
LABELS = {"shared/settings/load.py": {"replan up"}, "orchestrator/cli/main.py": {"replan "}}
"""Texts that look like a command and are none: where a setting came from, the version."""


def sources() -> list[Path]:
    return sorted(p for side in ("orchestrator", "shared", "workers") for p in side_files(side))


def side_files(side: str) -> Iterator[Path]:
    return (ROOT / side).rglob("*.py")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def verbs() -> dict[str, Any]:
    """Every command of the program under its words."""
    found: dict[str, Any] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        for word, held in getattr(command, "commands", {}).items():
            walk(held, (*words, word))
        if not hasattr(command, "commands"):
            found[" ".join(words)] = command

    walk(typer.main.get_command(build()), ())
    return found


def steps(path: Path) -> Iterator[ast.Call]:
    """The calls that make a next step."""
    # Every worker of a parallel run reads this: the rest of the sources is not parsed for it.
    if "NextStep" not in path.read_text(encoding="utf-8"):
        return
    for node in ast.walk(syntax(path)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("NextStep"), attr="of")):
                yield node
            case ast.Call(func=ast.Name("NextStep")) if name(path) != DEFINED:
                yield node


DEFINED = "shared/domain/next_step.py"
STEPS = [
    pytest.param(call, id=f"{name(path)}:{call.lineno}")
    for path in sources()
    if name(path) not in {COMPUTED, DEFINED}
    for call in steps(path)
]


@pytest.mark.parametrize("call", STEPS)
def test_a_next_step_can_be_typed(call: ast.Call) -> None:
    assert ast.unparse(call.func) == "NextStep.of", "its parts cannot be read here"
    verb, *arguments = call.args
    assert isinstance(verb, ast.Constant), "its verb cannot be read here"
    assert not any(isinstance(argument, ast.Starred) for argument in arguments)
    command = verbs()[str(verb.value)]
    options = {word: p for p in command.params for word in (*p.opts, *p.secondary_opts)}
    given = {f"--{(keyword.arg or '').rstrip('_').replace('_', '-')}" for keyword in call.keywords}
    if given == {"--help"}:
        return
    assert given <= options.keys()
    for keyword in call.keywords:
        option = options[f"--{str(keyword.arg).rstrip('_').replace('_', '-')}"]
        flag = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        computed = ast.unparse(keyword.value).startswith("bool(")
        assert option.is_flag == (flag or computed), keyword.arg
    positional = [p for p in command.params if p.param_type_name == "argument"]
    needed = sum(p.required for p in positional)
    most = len(arguments) if any(p.nargs == -1 for p in positional) else len(positional)
    assert needed <= len(arguments) <= most
    missing = {
        p.name
        for p in command.params
        if p.param_type_name == "option" and p.required and not given & set(p.opts)
    }
    assert not missing


def test_there_are_next_steps_of_most_verbs() -> None:
    """The test above looks at something."""
    assert len(STEPS) > 100


def test_no_text_stands_for_a_next_step() -> None:
    """A command of ours is a `NextStep`: as a text it could name a verb that is gone."""
    found = [
        f"{name(path)}:{line}: {text}"
        for path in sources()
        for line, text in texts(syntax(path))
        if text not in LABELS.get(name(path), ())
    ]
    assert found == []


def texts(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts that begin as a command of ours; docstrings and examples of the help are none."""
    spared = {id(held) for node in ast.walk(module) for held in spared_in(node)}
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in spared
        ):
            first, *rest = node.value.split(" ", 2)
            if first == "replan" and rest and is_a_word_of_ours(rest[0]):
                yield node.lineno, node.value


def is_a_word_of_ours(word: str) -> bool:
    return not word or word in {verb.split()[0] for verb in verbs()}


def spared_in(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr):
        yield node.value
    elif isinstance(node, ast.keyword) and node.arg in {"example", "help"}:
        yield from ast.walk(node.value)
