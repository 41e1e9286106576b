"""The picture in README: the terminal of a real `replan demo`.

    python -m benchmarks.picture docs/demo.svg

Lines that are longer than the terminal end with an ellipsis, and the scratch folder of the run is
shown as /srv/status; all else is as it was printed.
"""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

WIDTH: Final = 110
SCRATCH: Final = re.compile(r"/\S*?/replan-demo-\w+(?:/site)?")
FONTS: Final = re.compile(r"@font-face \{\{.*?\}\}\n", re.DOTALL)
END: Final = "T1 is "


def demo() -> str:
    """What a real run prints, with its colours; raises CalledProcessError if it fails."""
    environ = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "400", "TERM": "xterm-256color"}
    command = (sys.executable, "-P", "-m", "orchestrator.cli.main", "demo")
    done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    return done.stdout


def story(printed: str) -> list[Text]:
    """The lines from the submission to the sums, each as wide as the terminal at most."""
    lines = Text.from_ansi(SCRATCH.sub("/srv/status", printed)).split("\n", allow_blank=True)
    end = next(number for number, line in enumerate(lines) if line.plain.startswith(END))
    start = next(number for number, line in enumerate(lines) if "T1 submitted" in line.plain)
    return [Text("$ make demo", style="bold"), *(shown(line) for line in lines[start:end])]


def shown(line: Text) -> Text:
    """A line, shortened."""
    line.truncate(WIDTH, overflow="ellipsis")
    return line


def picture(lines: list[Text]) -> str:
    """The terminal as SVG; the same lines give the same bytes."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    for line in lines:
        console.print(line, no_wrap=True, crop=True)
    # Nothing is fetched to show it: the reader's own fixed-width font will do.
    code_format = FONTS.sub("", CONSOLE_SVG_FORMAT)
    return console.export_svg(title="replan", unique_id="demo", code_format=code_format)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(story(demo())), encoding="utf-8")
