"""A parameter becomes one word of a shell, one value of Python, or plain text."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.runbook.template import fill

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@given(VALUES)
def test_a_value_is_one_word_whatever_it_holds(value: str) -> None:
    filled = fill({"run": "cp ${from} target"}, {"from": value})
    assert shlex.split(filled["run"]) == ["cp", value, "target"]


@pytest.mark.parametrize("key", ["run", "command", "check", "rollback"])
def test_everything_that_a_shell_reads_is_quoted(key: str) -> None:
    filled = fill({key: "rm -- ${name}"}, {"name": "a; rm -rf 'b c'"})
    assert shlex.split(filled[key]) == ["rm", "--", "a; rm -rf 'b c'"]


def test_preconditions_are_quoted_too() -> None:
    filled = fill({"preconditions": ["test -d ${name}", "true"]}, {"name": "a b"})
    assert filled["preconditions"] == ["test -d 'a b'", "true"]


def test_what_no_shell_reads_is_filled_in_as_it_is() -> None:
    filled = fill({"title": "Copy ${name}", "needs": ["${name}"]}, {"name": "a 'b'"})
    assert filled == {"title": "Copy a 'b'", "needs": ["a 'b'"]}


@given(VALUES)
def test_in_a_snippet_of_python_a_value_is_a_text(value: str) -> None:
    filled = fill({"kind": "code", "run": "result = ${name}"}, {"name": value})
    found: dict[str, object] = {}
    exec(filled["run"], {}, found)  # noqa: S102 - the property is what Python reads
    assert found["result"] == value


def test_the_check_of_a_snippet_is_read_by_a_shell() -> None:
    filled = fill({"kind": "code", "check": "test -e ${name}"}, {"name": "a b"})
    assert filled["check"] == "test -e 'a b'"


def test_a_variable_of_the_shell_is_left_alone() -> None:
    text = 'echo "${HOME}" ${status} $name ${name:-x} $(cat) ${x1}'
    assert fill({"run": text}, {"name": "n"}) == {"run": text}


def test_a_value_is_not_filled_in_again() -> None:
    assert fill({"title": "${a}"}, {"a": "${b}", "b": "no"}) == {"title": "${b}"}


def test_what_is_no_text_stays() -> None:
    document = {"timeout": 5, "critical": True, "check": None, "steps": [{"run": "a"}, 1.5]}
    assert fill(document, {"a": "b"}) == document
