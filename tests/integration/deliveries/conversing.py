"""A program in the place of Claude Code, whose part a test plays: it develops and it reviews."""

import os
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_PROGRAM = """\
#!{python}
import importlib.util, json, pathlib, re, subprocess, sys
HERE = pathlib.Path({folder!r})
if "--version" in sys.argv:
    print("9.9.9")
    sys.exit()
task = sys.stdin.read()
kind = "review" if "You review work" in task else "work"
for n in range(1, 1000):
    try:
        with open(HERE / f"{{kind}}.{{n}}", "x") as file:
            file.write(task)
        break
    except FileExistsError:
        continue
found = importlib.util.spec_from_file_location("says", HERE / "says.py")
says = importlib.util.module_from_spec(found)
found.loader.exec_module(says)
print(json.dumps({{"type": "system", "subtype": "init", "session_id": f"{{kind}}-{{n}}",
                   "model": "scripted", "claude_code_version": "9.9.9"}}), flush=True)
given = getattr(says, kind)(task, n)
if kind == "work":
    issue = re.search(r"delivered as (L-[0-9]+)", task)[1]
    base = re.search(r"--no-renames ([0-9a-f]{{40}})", task)[1]
    asked = (["diff", "--name-only", "--no-renames", base],
             ["ls-files", "--others", "--exclude-standard"])
    changed = [line for words in asked for line in subprocess.run(
        ["git", *words], capture_output=True, text=True, check=True).stdout.splitlines()]
    given = {{"status": "ok", "summary": "done", "decisions": [], "questions": [],
              "deliverables": {{"schema_version": 1, "issue_id": issue, "summary": ["did it"],
                                "changed_files": sorted(set(changed)),
                                "how_to_verify": ["look at it"], "risks": []}}}}
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "usage":
                   {{"input_tokens": 10, "output_tokens": 5}}, "total_cost_usd": 0.25,
                   "structured_output": given}}))
"""

APPROVED: dict[str, Any] = {
    "approved": True,
    "summary": "It is good.",
    "comments": [],
    "tests_passed": True,
    "files_reviewed": ["one"],
}


@dataclass(frozen=True)
class Conversing:
    """The program in `folder`/bin, and what it was asked."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> "Conversing":
        """A program that writes a file and approves everything."""
        (folder / "bin").mkdir(parents=True)
        program = folder / "bin/claude"
        program.write_text(_PROGRAM.format(python=sys.executable, folder=str(folder)))
        program.chmod(0o755)
        made = cls(folder)
        made.will('open("one", "w").write("1\\n")', f"return {APPROVED!r}")
        return made

    def will(self, work: str, review: str) -> None:
        """Have it do that; both are bodies of functions of its `task` and the count `n`."""
        parts = (("work", work), ("review", review))
        text = "\n".join(
            f"def {name}(task, n):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
            for name, body in parts
        )
        (self.folder / "says.py").write_text(f"import os, pathlib, time\n{text}\n")

    def asked(self, kind: str) -> list[str]:
        """What it was asked as a developer (`work`) or as a reviewer (`review`), in order."""
        found = self.folder.glob(f"{kind}.*")
        return [each.read_text() for each in sorted(found, key=lambda p: int(p.suffix[1:]))]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Conversing:
    """In the place of Claude Code, on the PATH of this machine."""
    made = Conversing.at(tmp_path / "program")
    monkeypatch.setenv("PATH", f"{made.folder}/bin:{os.environ['PATH']}")
    return made
