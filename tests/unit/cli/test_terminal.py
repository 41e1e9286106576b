"""Nothing that hosts, models or people have written steers the terminal."""

import ast
import json
import unicodedata
from io import StringIO
from pathlib import Path

import pytest
from rich.markup import escape

import orchestrator.cli
from orchestrator.cli.terminal import Terminal
from shared.visible import visible

BLANK = {"\u115f", "\u1160", "\u3164", "\uffa0"}
CHARACTERS = [chr(code) for code in range(0x110000)]
CLI = Path(next(iter(orchestrator.cli.__path__)))
THE_CONSOLE = {"terminal.py"}


def test_what_is_written_out_is_what_unicode_says_cannot_be_seen() -> None:
    """Controls, formats, separators of lines and blank letters."""
    unsafe = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    expected = {c for c in CHARACTERS if unicodedata.category(c) in unsafe} - {*"\n\t"}
    assert {c for c in CHARACTERS if visible(c) != c} >= expected | BLANK
    assigned = {c for c in CHARACTERS if unicodedata.category(c) not in {*unsafe, "Cn"}}
    assert {c for c in assigned if visible(c) != c} == BLANK


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – é 漢 🙂\n\tagain", "plain – é 漢 🙂\n\tagain"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
        ("\x9b2J", "\\u009b2J"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("one\r\ntwo\rthree", "one\ntwo\\u000dthree"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("می\u200cخواهم 👩\u200d💻", "می\u200cخواهم 👩\u200d💻"),
        ("r\u200dm -r\u200cf", "r\\u200dm -r\\u200cf"),
    ],
)
def test_what_would_steer_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_json_stays_the_same_value() -> None:
    value = {"text": "\x1b[2J\u202e\x9b\U000e0041\u2028 é"}
    assert json.loads(visible(json.dumps(value, ensure_ascii=False))) == value


def test_colours_of_our_own_are_kept() -> None:
    written = StringIO()
    terminal = Terminal(file=written, force_terminal=True, color_system="standard", width=80)
    terminal.print(f"[red]{escape('bad')}[/] \x1b[32mworse")
    terminal.out("\x1b[32mraw", highlight=False)
    assert "\x1b[31mbad\x1b[0m" in written.getvalue()
    assert "\x1b[32m" not in written.getvalue()


def test_the_command_line_prints_in_no_other_way() -> None:
    """`print`, a bare `Console` and the files of one would pass the terminal by."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted(CLI.rglob("*.py"))
        if path.name not in THE_CONSOLE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and passes_by(node)
    ]
    assert found == []


def passes_by(call: ast.Call) -> bool:
    """Whether a call prints without the terminal what is neither ours nor `visible`."""
    function = ast.unparse(call.func)
    if function.endswith((".echo", "stdout.write", "stderr.write", "stdout.writelines")):
        return not any(safe in ast.unparse(call) for safe in ("{visible(", "{version("))
    return function in {"print", "Console"} or function.endswith("console.file.write")


def test_what_is_given_out_as_it_is_keeps_tabs_brackets_and_long_lines() -> None:
    """A plan or a bundle that is copied from the terminal has the same bytes."""
    stream = StringIO()
    text = "a\tb [bold]c[/bold] " + "long " * 40
    Terminal(file=stream, width=20).out(text, highlight=False)
    assert stream.getvalue() == f"{text}\n"
