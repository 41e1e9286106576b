"""A ring whose one host is a real Debian, and what journeys do there."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.store import hosts
from tests.services.availability import UnavailableError, give_up
from tests.services.debian_base import Release, base
from tests.services.debian_host import ARCHIVES, DebianHost
from tests.services.debian_repository import Signer, repository
from tests.services.ring import Ring, eventually

SOURCES: Final = f"""
set -e
curl -sfo /etc/apt/trusted.gpg.d/main.asc {ARCHIVES}/main.asc
echo 'deb {ARCHIVES} main main' > /etc/apt/sources.list
apt-get -q update
"""
"""What makes a host find the packages of its release."""

ENDS_WITHIN: Final = 300.0
"""Seconds until a plan has ended, or asks."""


@dataclass
class Journey:
    """A ring, and the host, which it knows as web1."""

    ring: Ring
    host: DebianHost

    def newest(self) -> int:
        """The number of the task that was submitted last."""
        return int(self.ring.scalar("SELECT max(id) FROM tasks"))

    def carried_out(self, task: int, stops: int) -> list[str]:
        """Approve what the task asks until it is done; returns what was shown of each question.

        It may ask that often.
        """
        shown: list[str] = []
        while self.next_state(task) != "done":
            shown.append(self.shown(task))
            assert len(shown) <= stops, "\n\n".join(shown)
            self.ring.replan("intervention", "approve", self.asked(task))
        return shown

    def next_state(self, task: int) -> str:
        """`done`, or `waiting` for a person, as soon as it is one of them."""
        end = eventually(lambda: self._state(task), f"an end of T{task}", ENDS_WITHIN)
        return str(end)

    def _state(self, task: int) -> str:
        """Empty while it works, also on what was just answered."""
        phase = self.ring.phase(task)
        assert phase not in {"error", "cancelled"}, self.ring.story(task)
        waits = phase == "waiting" and self.asked(task)
        return phase if phase == "done" or waits else ""

    def asked(self, task: int) -> str:
        """The open intervention of a task; empty if there is none."""
        number = self.ring.scalar(
            "SELECT id FROM interventions WHERE task_id = :t AND closed_at IS NULL", t=task
        )
        return f"I{number}" if number else ""

    def shown(self, task: int) -> str:
        """What a person sees of what the task asks."""
        question = self.ring.replan("intervention", "show", self.asked(task)).stdout
        assert "approval" in question, question
        return question

    def comes_to_hold(self, effects: str, what: str) -> None:
        """Wait for that: a daemon that reloads goes on answering as before for a moment."""
        eventually(lambda: self.host.run(effects).returncode == 0, what)

    def failures(self) -> list[tuple[str, str]]:
        """The commands that did not do what they were for, and how they ended."""
        rows = self.ring.rows(
            "SELECT command, outcome FROM attempts"
            " WHERE outcome NOT IN ('ok', 'satisfied', 'needs_approval')"
        )
        return [(row.command, row.outcome) for row in rows]


@contextmanager
def debian_hosts(
    release: Release,
    prepared: str,
    *,
    names: tuple[str, ...] = ("web1",),
    files: Path | None = None,
    served: Mapping[str, bytes] | None = None,
) -> Iterator[tuple[DebianHost, ...]]:
    """Hosts of those names on which `prepared` has run; they are gone afterwards.

    `files` lie over the root of each, and it finds the `served` ones beside the packages of the
    release. Raises UnavailableError where hosts cannot be made.
    """
    # Not below a folder of pytest: what a host's layer is made of is reached by its own root.
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="replan-debian-"))
        folder = Path(scratch)
        folder.chmod(0o755)
        archives = folder / "archives"
        archives.mkdir()
        for name, content in (served or {}).items():
            (archives / name).parent.mkdir(parents=True, exist_ok=True)
            (archives / name).write_bytes(content)
        made = base(release)
        signer = Signer(folder / "signer")
        repository(archives, "main", made.packages, signer)
        signer.close()
        started = []
        for name in names:
            host = DebianHost(
                made, folder / name, name, mounts=True, archives=archives, files=files
            )
            started.append(stack.enter_context(host))
            ready = host.run(SOURCES + prepared)
            assert ready.returncode == 0, ready.stderr
        yield tuple(started)


@contextmanager
def debian_journey(
    ring: Ring,
    release: Release,
    prepared: str,
    *,
    roles: tuple[str, ...] = (),
    files: Path | None = None,
    served: Mapping[str, bytes] | None = None,
) -> Iterator[Journey]:
    """Everything up, with a host that is prepared (`debian_hosts`); it is gone afterwards.

    Besides an executor, a worker has the `roles`. Skips the test where a host cannot be made.
    """
    with ExitStack() as stack:
        try:
            making = debian_hosts(release, prepared, files=files, served=served)
            (host,) = stack.enter_context(making)
        except UnavailableError as reason:
            give_up(reason)
        with ring.database.begin() as connection:
            hosts.save(connection, host.described())
        ring.coordinator()
        ring.worker("executor")
        ring.worker("escalation", *roles)
        yield Journey(ring, host)
        ring.stop()
