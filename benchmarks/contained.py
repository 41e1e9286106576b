"""What a containment costs: a pass of 200 checks contained beside the same one uncontained.

python -m benchmarks.contained

Passes announce their checks to a host over SSH, and follow each other on a warm runner: what it
makes once, the containment too, is made in a round that does not count. Besides, the preview of the
edit of a file on this machine, beside the edit itself.
"""

import secrets
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.stage import host_of
from shared.domain.host import LOCALHOST, Host
from shared.guard import Guard, load_site, looks
from shared.guard.contained_looks import ContainedLooks
from shared.secrets.masking import Masker
from tests.services.accounts import account_for_tests
from tests.services.sshd import servers
from workers.roles.previews import reading_of
from workers.shells.ports import Call, PassRecord, Shell
from workers.shells.preview import Wanted, preview
from workers.shells.remote.connections import HostConnections

CHECKS: Final = 200
ROUNDS: Final = 5
PREVIEWS: Final = 15
WORK: Final = {
    "`cut … | grep …`": "cut -d: -f1 /etc/passwd | grep -qx root",
    "`grep -q ^root: /etc/passwd`": "grep -q ^root: /etc/passwd",
}


@dataclass
class Side:
    """A host over SSH, with connections that stay."""

    host: Host
    connections: HostConnections
    contained: ContainedLooks

    @contextmanager
    def opened(self) -> Iterator[Shell]:
        """The shell of a new pass; it leaves nothing."""
        token = secrets.token_hex(8)
        record = PassRecord(
            f"{token[:2]}/{token}-1-1-1", 1, False, 1.0, lambda: 600.0, lambda: False
        )
        shell = self.connections.shell(self.host, record)
        try:
            yield shell
        finally:
            shell.close()
            shell.settle()

    def checks(self, command: str, count: int, *, contained: bool) -> float:
        """Seconds for so many checks of one pass, the opening of it included."""
        begun = time.perf_counter()
        with self.opened() as shell:
            if contained:
                made = shell.containment(self.contained.hidden)
                if not made.is_there:
                    sys.exit(f"this machine has no containment: {made.missing} {made.said}")
            calls = [Call(command, 10.0, contained=contained) for _ in range(count)]
            shell.pipeline(replace(call) for call in calls)
            failed = [call for call in calls if not shell.run(call).ok]
        assert not failed, f"{len(failed)} checks failed: {command}"
        return time.perf_counter() - begun


def previewed(shell: Shell, command: str, guard: Guard) -> tuple[float, float]:
    """Milliseconds for the preview of a command, and for the command."""
    begun = time.perf_counter()
    found = preview(shell, Wanted(command), partial(reading_of, guard), Masker())
    shown = time.perf_counter()
    ran = shell.run(Call(command, 10.0))
    ended = time.perf_counter()
    if found.none is not None:
        sys.exit(f"this machine gives no previews: {found.none}")
    assert len(found.changes) == 1, found
    assert ran.ok, ran
    return (shown - begun) * 1000, (ended - shown) * 1000


@contextmanager
def set_up() -> Iterator[tuple[Side, Path]]:
    """A host over SSH, and a folder of this machine."""
    scratch = Path(tempfile.mkdtemp(prefix="replan-bench-"))
    scratch.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        account = stack.enter_context(account_for_tests(scratch))
        server = stack.enter_context(servers(account))()
        connections = stack.enter_context(closing(HostConnections()))
        guard = Guard(load_site(None).for_host("h1"))
        contained = ContainedLooks(guard, Guard(looks()))
        side = Side(host_of(server), connections, contained)
        yield side, scratch


def ratio(side: Side, command: str, count: int, rounds: int) -> tuple[float, float, float]:
    """Milliseconds a check, uncontained and contained, and the median ratio of the rounds."""
    pairs: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        order: Sequence[bool] = (False, True) if number % 2 else (True, False)
        spent = {way: side.checks(command, count, contained=way) for way in order}
        pairs.append((spent[False], spent[True]))
    del pairs[0]  # what stays is made in the first
    bare, kept = (statistics.median(each) / count * 1000 for each in zip(*pairs, strict=True))
    return bare, kept, statistics.median(b / a for a, b in pairs)


def main() -> None:
    """Measure in turns, and print medians."""
    with set_up() as (side, folder):
        for name, command in WORK.items():
            bare, kept, times = ratio(side, command, CHECKS, ROUNDS)
            print(
                f"a pass of {CHECKS} checks {name}: {bare:.2f} ms a check uncontained, "
                f"{kept:.2f} ms contained: {times:.2f} times"
            )
        (folder / "site.conf").write_text("worker_connections 512;\n" * 40)
        edit = f"sed -i 's/$/ /' {folder}/site.conf"
        guard = Guard(load_site(None).for_host(None))
        shell = side.connections.shell(LOCALHOST)
        previewed(shell, edit, guard)  # what stays is made in the first
        spent = [previewed(shell, edit, guard) for _ in range(PREVIEWS)]
        shown, bare = (statistics.median(each) for each in zip(*spent, strict=True))
        shell.close()
        print(f"a preview of the edit of a file: {shown:.0f} ms; the edit itself: {bare:.1f} ms")


if __name__ == "__main__":
    main()
