"""A shell on a host, as whoever runs commands there needs it."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.host import Host
from shared.secrets.masking import Masker
from workers.passes.ports import Cancelled
from workers.shells.records import CommandRecord


@dataclass(frozen=True, slots=True)
class PassRecord:
    """Under which name a host keeps the record of a pass, and what the driver of it may assume.

    `name` is the same for whoever carries out the pass; `fence` grows from one driver to the next.
    `since` is how many seconds ago the pass was first asked for, `resumed` whether somebody may
    have driven it before. `valid_for` answers how many seconds longer this driver may start
    commands.
    """

    name: str
    fence: int
    resumed: bool
    since: float
    valid_for: Callable[[], float]
    given_up: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Call:
    """A command for a shell, and all that belongs to it.

    It is ended after `timeout` seconds. With a `key` it runs effectively once in its pass, whoever
    calls and however often: it outlives the caller, and a later call gets the result of the first.
    `label` (one line) is kept with it on the host. `variables` are added to its environment;
    nothing else on the host ever holds them. In a pipeline, `ends_well` says which end lets the
    next call start: exit code 0, or an exit code that says no.
    """

    command: str
    timeout: float
    ends_well: bool = True
    key: str | None = None
    label: str = ""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)


class Shell(Protocol):
    """An open connection to a host on which commands run one after another or side by side."""

    def run(
        self,
        call: Call,
        *,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
    ) -> CommandResult:
        """Run a command with /bin/sh, stdin closed, nothing able to prompt.

        After its timeout, or once `cancelled` answers True, everything that the command started on
        the host is ended (TERM, then KILL). Raises Transient when the host cannot be reached or
        the pass has passed to another driver, Misconfigured when the host refuses us, Rejected for
        a command that no host can take (too long, a NUL byte).
        """
        ...

    def pipeline(self, calls: Generator[Call]) -> None:
        """Announce the next calls of `run`, so that the host need not wait for each of them.

        The shell takes them as it needs them, and may have each started as soon as the one before
        it has ended as its `ends_well` says. At the first that does not, and when it has no use
        for them, it closes the generator.
        """
        ...

    def cancel_pipeline(self) -> None:
        """Forget what was announced: no more of it is started.

        What has been started under a key is `recalled` from now on. Raises what `run` raises.
        """
        ...

    def recall(self, key: str) -> CommandRecord | None:
        """The host's record of what was started under that key.

        An earlier driver did that, or a pipeline that was cancelled since.
        """
        ...

    def erase(self) -> None:
        """Have no output of the pass's commands lie on the host any more; `close` comes first.

        Once it is recorded elsewhere: no later driver can have it from there. Raises what `run`
        raises.
        """
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


class Connections(Protocol):
    """Opens shells, keeping warm what can be kept warm."""

    def shell(
        self, host: Host, record: PassRecord | None = None, masker: Masker | None = None
    ) -> Shell:
        """A shell on the host, for a pass or for looks that leave no record.

        What the masker hides is in nothing that it tells of a command's output.
        Raises Transient (unreachable) or Misconfigured (key, host key).
        """
        ...

    def close(self) -> None:
        """Close every connection."""
        ...
