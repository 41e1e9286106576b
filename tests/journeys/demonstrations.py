"""A demonstration as people start it, in a home of its own."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.journeys.answers import REPLAN
from tests.services.agent_programs import program_for_tests
from tests.services.processes import kill, marked


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What it said, and the mark that everything that it has started has in its environment."""

    done: subprocess.CompletedProcess[str]
    mark: str

    def left(self) -> list[int]:
        """The processes of it that still run."""
        return marked(self.mark)


@contextmanager
def demonstration(home: Path, *words: str) -> Iterator[Demonstration]:
    """Run `replan demo` with these words; whatever happens, nothing of it is left afterwards.

    It finds Claude Code on its PATH if the words are more than none. How long it takes is limited
    as that of the whole test is.
    """
    mark = f"REPLAN_UP_OF_TEST=demo-{os.getpid()}-{home.name}"
    environ = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("REPLAN_", "ANTHROPIC_"))},
        "HOME": str(home),
        "TMPDIR": str(home),
        **dict([mark.split("=", 1)]),
    }
    if words:
        programs = home / "bin"
        programs.mkdir()
        (programs / "claude").symlink_to(program_for_tests("claude-code"))
        environ["PATH"] = f"{programs}:{environ['PATH']}"
    try:
        done = subprocess.run(
            [*REPLAN, "demo", *words, "--format", "min-json"],
            env=environ,
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
        )
        yield Demonstration(done, mark)
    finally:
        kill(marked(mark))
