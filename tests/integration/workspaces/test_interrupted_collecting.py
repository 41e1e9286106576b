"""A collector that dies anywhere has removed nothing whose files are not kept."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from shared.domain.target import Repository
from tests.integration.workspaces.machines import ShOfAMachine
from tests.integration.workspaces.sources import Source
from workers.agents.workspaces.script import script
from workers.agents.workspaces.workspaces import Workspaces

ATTEMPTS = ("R1-1",)
CALL = {"cap": 0, "idle": None, "largest": 1000, "label": "", "whole": ""}
WATCHED = ("git", "rm", "mv")


def test_a_collector_that_dies_loses_nothing(tmp_path: Path, source: Source) -> None:
    """Before each of its calls to git, rm and mv in turn; with all that it has started."""
    place, spare = tmp_path / "place", tmp_path / "spare"
    repository = Repository("app", "localhost", str(source.folder))
    shell = ShOfAMachine(Path("/bin/sh"), os.environ["PATH"], tmp_path)
    workspaces = Workspaces(shell, repository, root=str(place))
    base = workspaces.base("R1").sha
    for attempt in ATTEMPTS:
        made = Path(workspaces.prepare(base, attempt).path)
        (made / "new").write_text(f"only in {attempt}")
        subprocess.run(["git", "add", "new"], cwd=made, check=True)
    shutil.copytree(place, spare, symlinks=True)
    text = script(("snapshot", "collect"), repository, str(place), ("collect",), CALL)
    turn = 0
    while not _dies_before(turn := turn + 1, text, tmp_path):
        assert all(_is_there(place, attempt) for attempt in ATTEMPTS), f"turn {turn}"
        shutil.rmtree(place)
        shutil.copytree(spare, place, symlinks=True)
    assert turn > len(WATCHED)
    assert not any((place / "app/work").iterdir())
    assert all(_kept(place, attempt) for attempt in ATTEMPTS)
    again = workspaces.prepare(base, ATTEMPTS[0])
    assert Path(again.path, "new").read_text() == f"only in {ATTEMPTS[0]}"


def _is_there(place: Path, attempt: str) -> bool:
    """Whether the workspace that the attempt leads to has its files, or git has."""
    name = place / "app/attempts" / attempt
    made = place / "app/work" / name.read_text().strip() if name.exists() else place
    file = made / "app/new"
    return (file.exists() and file.read_text() == f"only in {attempt}") or _kept(place, attempt)


def _dies_before(turn: int, text: str, folder: Path) -> bool:
    """Run the script until that call; False once it has died there, True if it came to its end."""
    tools, count = folder / "tools", folder / "count"
    tools.mkdir(exist_ok=True)
    count.write_text("")
    for name in WATCHED:
        real = shutil.which(name)
        (tools / name).write_text(
            f"#!/bin/sh\necho >>{count}\n[ $(wc -l <{count}) != {turn} ] || kill -9 0\n"
            f'exec {real} "$@"\n'
        )
        (tools / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", text, "sh"],
        env={"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(folder)},
        capture_output=True,
        start_new_session=True,
        cwd="/",
        check=False,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done
    return done.returncode == 0


def _kept(place: Path, attempt: str) -> bool:
    ours = ["git", "--git-dir", str(place / "app/ours.git")]
    words = [*ours, "show", f"refs/replan/attempts/{attempt}:new"]
    shown = subprocess.run(words, capture_output=True, text=True, check=False)
    return shown.stdout == f"only in {attempt}"
