"""Texts that no shell can parse, beside those that one of them can."""

import pytest

from shared.guard.shell.parse import syntax_error


@pytest.mark.parametrize(
    "text",
    ["ls | | wc", "echo 'a", "if true; then", "cat <<X | (", "a && ", "f() {", "case x in", ")"],
)
def test_what_no_shell_can_parse_has_an_error(text: str) -> None:
    assert syntax_error(text)


@pytest.mark.parametrize(
    "text",
    [
        *("cat <<< word", "[[ -e /etc ]]", "diff <(ls) <(ls)", "a=(1 2)", "((1 + 1))"),
        *("ls", "echo $((1 + 1))", "for i in 1 2; do echo $i; done", "", "# nothing", "a;b"),
        *("f() { ls; }; f", "cat <<'X'\na\nX", "test -e a || { b; c; }", "! grep -q x f"),
    ],
)
def test_what_one_shell_can_parse_has_none(text: str) -> None:
    """`sh` is bash on some hosts."""
    assert syntax_error(text) == ""
