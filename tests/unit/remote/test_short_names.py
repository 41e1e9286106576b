"""A runner's text is sent with short names, and stays the same program."""

import re
import subprocess

import pytest

from tests.services.shells import shell_for_tests
from workers.shells.remote.runner_text import opening, text
from workers.shells.remote.short_names import VARIABLES, VERBS, shorten

ALL = {**{verb.value: short for verb, short in VERBS.items()}, **VARIABLES}
_VARIABLE = re.compile(r"\$\{?#?([A-Za-z_]\w*)|(?<![\w$/.\"'-])([A-Za-z_]\w*)=|\bfor (\w+)")
_FUNCTION = re.compile(r"^([A-Za-z_]\w*)\(\) \{", re.MULTILINE)
_READ = re.compile(r"\bread -r ((?:[a-z_]\w* ?)+)")


def variables(program: str) -> set[str]:
    """The variables of a shell program."""
    found = {name for names in _VARIABLE.findall(program) for name in names if name}
    return found | {name for names in _READ.findall(program) for name in names.split()}


def test_no_two_names_become_one() -> None:
    """Nor does a short name stand for something else in the source."""
    assert len(set(VERBS.values())) == len(VERBS)
    assert len(set(VARIABLES.values())) == len(VARIABLES)
    assert not set(VARIABLES.values()) & variables(text())
    assert not set(VERBS.values()) & set(_FUNCTION.findall(text()))
    assert not re.findall(rf"(?:^|[;&|({{] *)(?:{'|'.join(VERBS.values())}) ", text(), re.MULTILINE)


def test_every_name_of_the_table_is_one_of_the_source() -> None:
    """Each verb is a function, and each variable is used."""
    assert {verb.value for verb in VERBS} <= set(_FUNCTION.findall(text()))
    assert set(VARIABLES) <= variables(text())


def test_the_source_has_words() -> None:
    """No function and no variable of one letter."""
    names = variables(text()) | set(_FUNCTION.findall(text()))
    assert [name for name in names if len(name) < 2 and name != "_"] == []


def test_shortening_changes_names_alone() -> None:
    """Put back, they give the source: nothing else became a short name or was left out."""
    pieces = re.split(rf"(?<![\w-])({'|'.join(ALL)})(?![\w-])", text())
    assert shorten(text()) == "".join(ALL.get(piece, piece) for piece in pieces)
    for name in ALL:
        assert not re.search(rf"(?<!\w){name}(?!\w)", shorten(text())), name
    # Under a name that only a table has put there, every one can be told again.
    marked = {name: f"zz{number}zz" for number, name in enumerate(ALL)}
    there = re.sub("|".join(map(re.escape, ALL)), lambda found: marked[found[0]], text())
    back = {mark: name for name, mark in marked.items()}
    assert re.sub("zz[0-9]+zz", lambda found: back[found[0]], there) == text()


def test_what_is_sent_is_small() -> None:
    """It crosses a slow line with each new runner."""
    assert len(opening("a" * 12, "b" * 12)) < 13_800


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_what_is_sent_can_be_read(shell: str) -> None:
    """By every shell that a host has as /bin/sh."""
    program = str(shell_for_tests(shell))
    words = [program, "sh", "-n"] if shell == "busybox" else [program, "-n"]
    subprocess.run(words, input=opening("aa", "bb"), check=True)
