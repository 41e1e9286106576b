"""A script that dies anywhere, and is run again, gives what it would have given at once."""

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pytest

from shared.domain.attempt import CommandResult
from shared.domain.errors import Transient
from shared.domain.target import Repository
from tests.fakes.scripted_shell import ScriptedShell
from tests.integration.deliveries.test_line import HELLO, Meta, delivery
from tests.integration.deliveries.trees import FILE, Objects, files
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.line import Line
from workers.deliveries.values import Conflict
from workers.shells.ports import Call

_FEWEST = 4
"""How often each script dies at least."""

WATCHED = ("git", "mkdir", "mv", "rm", "base64", "cat", "xargs")


class Mortal(ScriptedShell):
    """A shell that dies, with all that it has started, before one of its calls of a program."""

    def __init__(self, folder: Path) -> None:
        super().__init__({})
        self._folder, self._count = folder, folder / "count"
        folder.mkdir()
        for name in WATCHED:
            (folder / name).write_text(
                f"#!/bin/sh\necho >>{self._count}\n"
                f'[ "$TURN" = 0 ] || [ $(wc -l <{self._count}) != "$TURN" ] || kill -9 0\n'
                f'exec {shutil.which(name)} "$@"\n'
            )
            (folder / name).chmod(0o755)
        self.die_before(0)

    def die_before(self, turn: int) -> None:
        """Die before that call, counted from now on; 0 for never."""
        self._turn = turn
        self._count.write_text("")

    @property
    def started(self) -> int:
        """How many there were since then."""
        return len(self._count.read_text())

    def run(self, call: Call, **_: object) -> CommandResult:
        """What the shell did with it; without an exit code if it died."""
        began = datetime.now(UTC)
        path = f"{self._folder}:{os.environ['PATH']}"
        ran = subprocess.run(
            ["/bin/sh", "-c", call.command, "sh"],
            env={"PATH": path, "HOME": str(self._folder), "TURN": str(self._turn)},
            capture_output=True,
            start_new_session=True,
            cwd="/",
            check=False,
        )
        code = None if ran.returncode == -signal.SIGKILL else ran.returncode
        return CommandResult(call.command, code, ran.stdout, ran.stderr, began, datetime.now(UTC))


@dataclass(frozen=True)
class Scene:
    """Deliveries of a session: the trees are on the host, all but that of the first one."""

    base: str
    first: Meta
    patch: bytes
    trees: tuple[str, ...]

    @classmethod
    def on(cls, line: Line, ours: Objects, base: str) -> Self:
        """Make them."""
        contents = ({"readme": "all\n"}, {"code": "print(2)\n"}, {"readme": "you\n"})
        content = random.Random(1).randbytes(80_000)  # noqa: S311 - not a secret
        first = ours.tree(HELLO | {b"large": (FILE, content)})
        patch = line.publish(base, first).patch
        trees = tuple(ours.tree(HELLO | files(**each)) for each in contents)
        for number, tree in enumerate(trees):
            ours.git("update-ref", f"refs/tests/{number}", tree)
        ours.git("update-ref", "-d", "refs/tests/made")
        ours.git("prune", "--expire=now")
        assert not ours.has(first)
        return cls(base, Meta(base, first), patch, trees)


def apply(line: Line, scene: Scene) -> None:
    """Send a patch, in more than one part, and make the tree that is not there."""
    line.apply(scene.first, scene.patch)


def merge(line: Line, scene: Scene) -> object:
    """One delivery becomes the next commit, one is merged, and one conflicts."""
    chain = [delivery(number, scene.base, tree) for number, tree in enumerate(scene.trees)]
    found = line.merge(scene.base, chain, session="T1@app")
    assert isinstance(found, Conflict)
    return found


def keep(line: Line, scene: Scene) -> None:
    """Move the head of the session."""
    line.keep("T1@app", scene.base)


@pytest.mark.parametrize("act", [apply, merge, keep])
def test_whoever_repeats_it_gets_the_same(
    tmp_path: Path, repository: Repository, act: Callable[[Line, Scene], object]
) -> None:
    """Killed before each of its calls of a program in turn; nothing half-done is left."""
    place, spare = tmp_path / "place", tmp_path / "spare"
    shell = Mortal(tmp_path / "tools")
    line = Line(shell, repository, root=str(place))
    base = Workspaces(shell, repository, root=str(place)).base("R1").sha
    scene = Scene.on(line, Objects(place / "app/ours.git"), base)
    shutil.copytree(place, spare, symlinks=True)
    shell.die_before(0)
    expected, left = act(line, scene), _left(place)
    deaths = 0
    for turn in range(1, shell.started + 1):
        shutil.rmtree(place)
        shutil.copytree(spare, place, symlinks=True)
        shell.die_before(turn)
        try:
            act(line, scene)
        except Transient:
            deaths += 1
            shell.die_before(0)
            assert act(line, scene) == expected, f"turn {turn}"
            line.changes(base, base)  # any script sweeps up what another one has left
        assert _left(place) == left, f"turn {turn}"
    # Two calls of a pipeline may pass the moment together.
    assert deaths > _FEWEST


def _left(place: Path) -> tuple[bytes, list[Path], list[Path]]:
    """What there is: refs, what scripts work with, and locks."""
    ours = place / "app/ours.git"
    refs = Objects(ours).git("for-each-ref")
    return refs, list((place / "app/work").iterdir()), list(ours.rglob("*.lock"))
