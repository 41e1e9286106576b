"""Markdown on a terminal: nothing of it is cut off at the edge."""

from io import StringIO

import pytest

from orchestrator.cli.tables import show_markdown
from orchestrator.cli.terminal import Terminal

COMMAND = "printf 'hello from %s' > $HOME/replan-hello/greeting && cat $HOME/replan-hello/greeting"


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("before", ["", "- ", "> ", "### ", "- **ok** T1.1.1#1@web1: ", "    "])
def test_every_word_is_shown_within_the_width(before: str, width: int) -> None:
    """The reports of tasks have commands in lists, quotations, headings and blocks."""
    written = StringIO()
    terminal = Terminal(
        file=written, force_terminal=True, color_system=None, width=width, soft_wrap=True
    )
    text = COMMAND if before == "    " else f"``{COMMAND}``"
    show_markdown(terminal, f"# Report\n\n{before}{text} the last word\n")
    lines = written.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = "".join("".join(lines).replace("▌", "").split())
    assert "".join(f"{COMMAND}thelastword".split()) in shown
