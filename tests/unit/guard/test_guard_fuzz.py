"""Three thousand generated commands: what the guard resolved is what the shell executed (X17)."""

import os
import random
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from shared.domain.errors import Misconfigured
from shared.guard import Guard, load_site
from shared.guard.paths import canonical
from shared.guard.policy.policy import CommandPolicy
from shared.guard.shell.interpret import Walk
from shared.guard.shell.parse import Dialect, Shfmt
from shared.guard.shell.scope import Scope
from shared.guard.shell.streams import Input
from shared.guard.words import HOME, Run, literal_word
from tests.unit.guard.recording import SHELLS, dialect_of

COMMANDS = 4000 if os.environ.get("REPLAN_CHAOS") == "full" else 800
BATCH = 200
_HOME = "/home-of-nobody"
_SITE = """
allow:
  - reason: a harmless program that writes down how it was called
    rules:
      - {run: rec, operands: "known*"}
"""
_RECORD = '#!/bin/sh\n{ printf "%s\\0" "$#" "$@" "$PWD"; } >> "$RECORD"\n'
# Every command in a process and a room of its own, all of a batch under one driver.
_DRIVER = """
cd "$1" || exit 9
for text in *.text; do
  mkdir -p "room-$text/d/e" "room-$text/f g" && : > "room-$text/a.txt" && : > "room-$text/b.txt"
  ( cd "room-$text" && RECORD="$1/$text.record" HOME=/home-of-nobody \\
    exec "$2" -c "$(cat "../$text")" < /dev/null > /dev/null 2>&1 )
done
"""
PARTS: dict[str, list[str]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "fuzz" / "guard.yaml").read_text()
)


def generated(shell: str, seed: int, count: int) -> list[str]:
    """Commands for a shell, always the same ones for the same seed."""
    dice = random.Random(seed)  # noqa: S311 - it has to be repeatable, not secret
    bash = dialect_of(shell) is Dialect.BASH
    words, forms = PARTS["words"], PARTS["forms"]
    if bash:
        words, forms = words + PARTS["bash_words"], forms + PARTS["bash_forms"]
    found = []
    for number in range(count):
        given = ["".join(dice.choices(words, k=dice.choice((1, 1, 1, 2, 3)))) for _ in range(3)]
        form = forms[number % len(forms)]
        text = form.format(*given, dice.choice(("a", "b1", "x.y", "a/b", "k=v")))
        found.append(f"V='a  b'; W=c; E=; N=5; {text}")
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Call:
    """One start of the program: its words, and where (None: the guard does not know)."""

    words: tuple[str | None, ...]
    place: str | None


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> CommandPolicy:
    """The default policy, and the program."""
    path = tmp_path_factory.mktemp("site") / "policy.yaml"
    path.write_text(_SITE)
    return load_site(path).for_host()


@pytest.mark.parametrize("shell", SHELLS)
def test_what_the_guard_resolved_is_what_the_shell_executed(
    shell: str, policy: CommandPolicy, tmp_path: Path
) -> None:
    """For every command: each call it makes was resolved, word for word, or it was not allowed."""
    dialect = dialect_of(shell)
    interpreter = "bash" if dialect is Dialect.BASH else "dash"
    commands = generated(shell, seed=20, count=COMMANDS // len(SHELLS))
    shfmt = Shfmt()
    guard = Guard(policy, shfmt)
    verdicts = guard.judge_all(commands, interpreter)
    compared = [command for command, v in zip(commands, verdicts, strict=True) if v.allowed]
    silent = []
    calls = 0
    for first in range(0, len(compared), BATCH):
        batch = compared[first : first + BATCH]
        folder = tmp_path / str(first)
        for command, executed, room in executions(shell, batch, folder):
            seen = resolved(shfmt, dialect, command, room)
            calls += len(executed)
            missing = [call for call in executed if not any(fits(call, one) for one in seen)]
            if missing:
                silent.append((command, missing, seen))
    assert silent == []
    assert len(compared) > len(commands) // 3
    assert calls > len(compared) // 2


def executions(shell: str, commands: list[str], folder: Path) -> list[tuple[str, list[Call], str]]:
    """What a shell really did with each of the commands, and the directory it began in."""
    program = folder / "bin" / "rec"
    program.parent.mkdir(parents=True)
    program.write_text(_RECORD)
    program.chmod(0o755)
    for number, command in enumerate(commands):
        (folder / f"{number:04}.text").write_text(command)
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    driver = ("/bin/sh", "-c", _DRIVER, "driver", str(folder), shell)
    subprocess.run(driver, env=environment, capture_output=True, timeout=120, check=True)
    done = []
    for number, command in enumerate(commands):
        record = folder / f"{number:04}.text.record"
        told = record.read_bytes() if record.exists() else b""
        room = str(folder / f"room-{number:04}.text")
        done.append((command, _calls(told.decode("utf-8", "surrogateescape")), room))
    return done


def _calls(told: str) -> list[Call]:
    calls = []
    rest = told.split("\0")[:-1]
    while rest:
        count = int(rest[0])
        calls.append(Call(tuple(rest[1 : count + 1]), rest[count + 1]))
        rest = rest[count + 2 :]
    return calls


def resolved(shfmt: Shfmt, dialect: Dialect, command: str, room: str) -> list[Call]:
    """The calls that the guard sees."""
    walk = Walk(shfmt)
    interpreter = "bash" if dialect is Dialect.BASH else "dash"
    walk.finish(walk.text(command, interpreter, Scope(arguments=()), Input()))
    return [_call(run, room) for run in walk.findings.runs if run.program == "rec"]


def _call(run: Run, room: str) -> Call:
    words = [word.literal for word in run.argv[1:]]
    places = {canonical(literal_word("."), directory).literal for directory in run.directories}
    place = places.pop() if len(places) == 1 else None
    if place is not None:
        place = (room + place[1:] if place.startswith(".") else place).replace(HOME, _HOME)
    return Call(tuple(None if w is None else w.replace(HOME, _HOME) for w in words), place)


def fits(executed: Call, seen: Call) -> bool:
    """True when the guard's call is the one executed; a place may be unknown, a word may not."""
    return executed == (seen if seen.place is not None else replace(seen, place=executed.place))


def test_a_difference_would_be_noticed(tmp_path: Path) -> None:
    """The comparison sees other words, another place, and a call that nobody saw."""
    shell = SHELLS[0]
    [(_, executed, room)] = executions(shell, ["cd d; rec a 'b c' ''"], tmp_path / "x")
    assert executed == [Call(("a", "b c", ""), f"{room}/d")]
    seen = resolved(Shfmt(), Dialect.POSIX, "cd d; rec a 'b c' ''", room)
    assert any(fits(executed[0], call) for call in seen)
    for other in ("rec a 'b c' ''", "cd d; rec a b c ''", "cd d; rec a 'b c'", "echo rec"):
        calls = resolved(Shfmt(), Dialect.POSIX, other, room)
        assert not any(fits(executed[0], call) for call in calls)


def test_the_program_is_allowed_by_its_rule_only(policy: CommandPolicy) -> None:
    """The policy of these tests asks for words that are known."""
    guard = Guard(policy)
    assert guard.judge("rec a 'b c'").allowed
    assert not guard.judge('rec "$x"').allowed
    with pytest.raises(Misconfigured):
        load_site(Path("/nowhere.yaml"))
