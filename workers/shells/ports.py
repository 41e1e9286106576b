"""The port to a shell on a host."""

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.containment import Containment, Hidden
from shared.domain.errors import Rejected
from shared.domain.host import Host
from shared.domain.records import SettledClaim
from shared.secrets.masking import Masker
from workers.passes.ports import Cancelled
from workers.shells.records import CommandRecord

LONGEST = 120_000
"""Bytes of a command: Linux takes no more than 131,072 in one argument."""

LOOK = "look"
"""The prefix of the keys that a shell gives to calls without a key: they may run again."""


@dataclass(frozen=True, slots=True)
class KnownClaims:
    """The claims of a step that the database knows, and what a person has said about others.

    With `adopt`, all others belong to the pass: its driver starts nothing, and ends what runs.
    """

    tokens: Collection[str] = ()
    settled: Collection[SettledClaim] = ()
    adopt: bool = False


@dataclass(frozen=True, slots=True)
class PassRecord:
    """The name under which a host keeps the records of a pass, and what its driver may assume.

    `name` is the same for every driver of the pass; `fence` grows from one driver to the next.
    `since` says how many seconds ago the pass was first requested, `resumed` whether another
    driver may have had it before. `valid_for` returns for how many more seconds this driver may
    start commands.

    `claim` is the random token of the driver's claim, which is part of the names of its records.
    `claims` reads which claims of the step the database knows now.
    """

    name: str
    fence: int
    resumed: bool
    since: float
    valid_for: Callable[[], float]
    given_up: Callable[[], bool]
    claim: str = ""
    claims: Callable[[], KnownClaims] = KnownClaims


@dataclass(frozen=True, slots=True)
class Call:
    """A command for a shell, with everything that belongs to it.

    The shell ends it after `timeout` seconds. With a `key` it runs effectively once in its pass,
    however often it is called: it outlives the caller, and a later call gets the result of the
    first. The host keeps `label` (one line) with it. `variables` are added to its environment;
    nothing else on the host ever holds them. In a pipeline, the next call starts after exit code 0
    if `ends_well`, otherwise after an exit code that means no.

    A program of ours reads the output of a call that is `parsed`: only the values of known secrets
    are hidden in it, and whoever shows it hides the rest.

    A `contained` call runs where the kernel of the host lets it change nothing, or not at all.
    """

    command: str
    timeout: float
    ends_well: bool = True
    key: str | None = None
    label: str = ""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    parsed: bool = False
    contained: bool = False

    @property
    def is_look(self) -> bool:
        """Whether the caller gave it no key."""
        return self.key is None or self.key.startswith(LOOK)

    @property
    def size(self) -> int:
        """The bytes of its texts."""
        texts = (self.command, self.label, *self.variables.values())
        return sum(len(text.encode()) for text in texts)

    def is_same(self, other: "Call") -> bool:
        """Whether both run the same command under the same key, or both without one."""
        same_key = self.key == other.key or (self.is_look and other.is_look)
        same_text = self.command == other.command and self.contained == other.contained
        return same_text and same_key

    def require_valid(self) -> None:
        """Raise Rejected if no host can take the command: too long, or not valid text."""
        try:
            size = len(self.command.encode())
        except UnicodeEncodeError:
            raise Rejected("the command is not valid text", stage="execute") from None
        if "\0" in self.command:
            raise Rejected("the command contains a NUL byte", stage="execute")
        if size > LONGEST:
            raise Rejected(
                f"the command has {size} bytes, but a host accepts at most {LONGEST}; "
                "write long content in several commands",
                stage="execute",
            )


class Shell(Protocol):
    """An open connection to a host; commands on it run one after another or side by side."""

    def run(
        self,
        call: Call,
        *,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
    ) -> CommandResult:
        """Run a command with /bin/sh and a closed stdin, so that nothing can prompt.

        After its timeout, or once `cancelled` returns True, everything that the command started on
        the host is ended (TERM, then KILL). Raises Transient when the host cannot be reached or
        another driver has the pass, ForgottenError when the host has records of the step that the
        database does not know, Misconfigured when the host refuses us, and Rejected for a command
        that no host can take (too long, a NUL byte).
        """
        ...

    def containment(self, hidden: Hidden) -> Containment:
        """Make the host's containment, which hides that from contained calls, if it has one.

        Call this before the first contained call. Raises what `run` raises.
        """
        ...

    def pipeline(self, calls: Generator[Call]) -> None:
        """Announce the next calls of `run`, so that the host does not wait for each of them.

        The shell takes calls as it needs them, and may start each one as soon as the one before it
        has ended as its `ends_well` says. It closes the generator at the first call that ends
        otherwise, and when it cannot use the calls.
        """
        ...

    def cancel_pipeline(self) -> None:
        """Forget what was announced, and start nothing more of it.

        `recall` returns what was started under a key. Raises what `run` raises.
        """
        ...

    def recall(self, key: str) -> CommandRecord | None:
        """The host's record of the command that was started under that key.

        An earlier driver or a cancelled pipeline started it.
        """
        ...

    def erase(self) -> None:
        """Remove the output of the pass's commands from the host; call `close` first.

        Call this once the output is recorded elsewhere: later drivers cannot read it from the
        host. Raises what `run` raises.
        """
        ...

    def settle(self) -> None:
        """Say that everything about the pass is recorded elsewhere, and that nobody drives it.

        The host may then remove its output when it needs the room; the record that its commands
        ran stays. Call this after `close`. The host hears of it when it is next spoken to.
        """
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


class Connections(Protocol):
    """Opens shells, and keeps connections warm."""

    def shell(
        self, host: Host, record: PassRecord | None = None, masker: Masker | None = None
    ) -> Shell:
        """A shell on the host, for a pass or for looks that leave no record.

        The output of commands never contains what the masker hides.
        Raises Transient (unreachable) or Misconfigured (key, host key).
        """
        ...

    def close(self) -> None:
        """Close every connection."""
        ...
