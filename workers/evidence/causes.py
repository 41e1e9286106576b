"""From what a failed command named and what the host answered to what is wrong; pure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.domain.attempt import AgentResult, Attempt
from shared.domain.cause import Cause, CauseKind
from shared.domain.outcome import COUNTED, GREEN
from workers.evidence import answers as read
from workers.evidence.commands import run_as
from workers.evidence.failed_assumptions import contradictions, output_of
from workers.evidence.named_in_commands import things_in_command
from workers.evidence.named_in_output import things_in_output
from workers.evidence.questions import LISTENERS, RIGHTS, journal, named, process, unit_state
from workers.evidence.questions import components as above_all
from workers.evidence.things import Thing, ThingKind, select, thing

Answers = Mapping[str, str]
"""What the host answered, by the name of the question."""

_LONGEST = 300


@dataclass(frozen=True)
class Failure:
    """A subtask that failed: its ordinal, the texts that were run, and what they printed."""

    subtask: int
    commands: tuple[str, ...]
    output: str

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """What it names; what the output names comes first."""
        of_commands = [each for text in self.commands for each in things_in_command(text)]
        return select((*things_in_output(self.output), *of_commands))


def failures(attempts: Sequence[Attempt]) -> tuple[Failure, ...]:
    """The subtasks whose last attempt did not succeed, each with its last counted attempt."""
    last = {a.subtask: a for a in attempts if not a.rollback}
    failed = {
        a.subtask: a
        for a in attempts
        if not a.rollback and a.outcome in COUNTED and last[a.subtask].outcome not in GREEN
    }
    return tuple(
        Failure(
            ordinal,
            tuple(dict.fromkeys(filter(None, _commands_of(a)))),
            output_of(a),
        )
        for ordinal, a in sorted(failed.items())
    )


def _commands_of(attempt: Attempt) -> tuple[str, ...]:
    """What a shell has run for it: the goal of an agent is not a command."""
    own = () if isinstance(attempt.result, AgentResult) else (attempt.command,)
    return own if attempt.check is None else (*own, attempt.check.command)


def followed(failure: Failure, answers: Answers) -> tuple[Thing, ...]:
    """What the answers to the questions about a failure name in turn, without what it names."""
    found: list[Thing] = []
    for each in failure.things:
        if each.kind is ThingKind.UNIT and deviates(answers, each.name):
            found += _of_unit(answers, each.name)
        elif each.kind is ThingKind.LOG:
            found += things_in_output(answers.get(named(each), ""))
    entries = read.entries(answers.get(RIGHTS, ""))
    for path in above_all(each.name for each in failure.things if each.kind is ThingKind.PATH):
        if path in entries and (target := thing(ThingKind.PATH, entries[path].target)):
            found.append(target)
    return tuple(each for each in select(found) if each not in failure.things)


def _of_unit(answers: Answers, unit: str) -> Iterator[Thing]:
    """What the journal and the settings of a unit name."""
    yield from things_in_output(complaints(answers, unit))
    state = read.properties(answers.get(unit_state(unit), ""))
    yield from filter(None, [thing(ThingKind.ACCOUNT, state.get("User", ""))])
    yield from needed_paths(state)
    _, command = read.program_of(state.get("ExecStart", ""))
    yield from things_in_command(command)


def needed_paths(state: Mapping[str, str]) -> tuple[Thing, ...]:
    """The folder and the program without which a unit cannot start."""
    program, _ = read.program_of(state.get("ExecStart", ""))
    folder = state.get("WorkingDirectory", "").lstrip("!-")
    found = (thing(ThingKind.PATH, name) for name in (folder, program) if name.startswith("/"))
    return tuple(each for each in found if each is not None)


def holders(failure: Failure, answers: Answers) -> Iterator[read.Listener]:
    """Who listens on the ports that a failure names, directly or by what its answers name."""
    ports = {
        each.name
        for each in (*failure.things, *followed(failure, answers))
        if each.kind is ThingKind.PORT
    }
    yield from (
        each for each in read.listeners(answers.get(LISTENERS, "")) if str(each.port) in ports
    )


def pids(failure: Failure, answers: Answers) -> Iterator[int]:
    """The processes in the way of a failure: who holds its ports and its locks."""
    yield from (each.pid for each in holders(failure, answers) if each.pid is not None)
    for pattern in _HELD.values():
        yield from (int(found["pid"]) for found in pattern.finditer(failure.output))


_HELD: dict[CauseKind, re.Pattern[str]] = {
    CauseKind.LOCK_HELD: re.compile(
        r"lock (?P<what>/[^\s.]\S*?)\.? It is held by process (?P<pid>\d{1,7})"
        r"(?: \((?P<by>[^)\n]+)\))?"
    ),
    CauseKind.ACCOUNT_IN_USE: re.compile(
        r"user (?P<what>[\w.-]+) is currently used by process (?P<pid>\d{1,7})(?P<by>)"
    ),
}
"""What a message says a process holds."""


def deviates(answers: Answers, unit: str) -> bool:
    """Whether a unit is known to be anything but active."""
    state = read.properties(answers.get(unit_state(unit), ""))
    return bool(state) and state.get("ActiveState") not in ("active", "reloading")


def complaints(answers: Answers, unit: str) -> str:
    """What the service said since its last start, and what the manager said of its program."""
    block = read.newest_start(answers.get(journal(unit), ""))
    manager = [text for text in read.messages(block, manager=True) if _OF_PROGRAM.search(text)]
    return "\n".join((*manager, *read.messages(block, manager=False)))


_OF_PROGRAM = re.compile(r"Failed to (?:locate|determine|load|set|execute)|directory failed|Unable")


@dataclass(frozen=True)
class Finding:
    """A failure with everything that the host answered about it."""

    failure: Failure
    answers: Answers
    login: read.Account | None

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """What it names, and what the answers name in turn."""
        return (*self.failure.things, *followed(self.failure, self.answers))

    def names(self, *kinds: ThingKind) -> list[str]:
        """The names of the things of these kinds, each once."""
        return list(dict.fromkeys(each.name for each in self.things if each.kind in kinds))

    def answer(self, kind: ThingKind, name: str) -> str:
        """What the host answered about that thing; empty if it was not asked."""
        return self.answers.get(named(Thing(kind, name)), "")

    def state(self, unit: str) -> Mapping[str, str]:
        """The properties of a unit; empty if the host did not tell them."""
        return read.properties(self.answers.get(unit_state(unit), ""))

    @cached_property
    def units(self) -> list[str]:
        """The units that it names and that are not active."""
        return [u for u in self.names(ThingKind.UNIT) if deviates(self.answers, u)]

    @cached_property
    def printed(self) -> str:
        """Its output, what its units have said since their last start, and the logs."""
        logs = (self.answer(ThingKind.LOG, name) for name in self.names(ThingKind.LOG))
        journals = (complaints(self.answers, unit) for unit in self.units)
        return "\n".join((self.failure.output, *journals, *logs))

    @property
    def says_in_use(self) -> bool:
        """Whether a port is said to be in use."""
        return _IN_USE.search(self.printed) is not None

    def holder(self, pid: int | None) -> str:
        """The unit of a process, or its program; empty if the host did not tell."""
        about = self.answers.get(process(pid), "") if pid is not None else ""
        return read.unit_of(about) or read.program(about)

    @cached_property
    def account(self) -> read.Account | None:
        """Who ran what failed: the account of its unit, the one that it changes to, or the login.

        None if the host did not describe that account.
        """
        of_units = [self.state(unit).get("User") or "root" for unit in self.units]
        changed = [name for text in self.failure.commands if (name := run_as(text))]
        name = next(iter((*of_units, *changed)), "")
        if name in ("", self.login.name if self.login else ""):
            return self.login
        if name == "root":
            return read.Account("root", 0)
        return read.account(self.answer(ThingKind.ACCOUNT, name))

    def cause(self, kind: CauseKind, subject: str, **details: str | int | None) -> Cause:
        """A cause of this failure."""
        return Cause(kind, subject, self.failure.subtask, **details)  # type: ignore[arg-type]


def _units(finding: Finding) -> Iterator[Cause]:
    for unit in finding.names(ThingKind.UNIT):
        state = finding.state(unit)
        if not state or not deviates(finding.answers, unit):
            continue
        line = telling_line(complaints(finding.answers, unit))
        if state["LoadState"] == "not-found":
            yield finding.cause(CauseKind.UNIT_MISSING, unit)
        elif state["LoadState"] == "masked":
            yield finding.cause(CauseKind.UNIT_MASKED, unit)
        elif state.get("ActiveState") == "failed" or state.get("SubState") == "auto-restart":
            status = state.get("ExecMainStatus", "0")
            result = state.get("Result", "")
            how = ", ".join(part for part in (result, "" if status == "0" else status) if part)
            yield finding.cause(CauseKind.UNIT_FAILED, unit, state=how, line=line)
        elif not any(_ENDING.search(text) for text in finding.failure.commands):
            how = state.get("ActiveState", "")
            shown = "" if how == "inactive" else how
            yield finding.cause(CauseKind.UNIT_INACTIVE, unit, state=shown, line=line)


_ENDING = re.compile(r"\b(?:stop|disable|mask|kill|remove|purge)\b")


def _ports(finding: Finding) -> Iterator[Cause]:
    refused = _REFUSED.search(finding.printed)
    found = {each.port: each for each in holders(finding.failure, finding.answers)}
    for name in finding.names(ThingKind.PORT):
        holder = found.get(int(name))
        if finding.says_in_use and holder is not None:
            by = finding.holder(holder.pid) or holder.program
            yield finding.cause(CauseKind.PORT_HELD, name, by=by, pid=holder.pid)
        elif refused and holder is None and finding.answers.get(LISTENERS):
            yield finding.cause(CauseKind.PORT_CLOSED, name)


_IN_USE = re.compile(r"already in use|EADDRINUSE|already allocated|in use by", re.IGNORECASE)
_REFUSED = re.compile(r"refused|[Ff]ailed to connect|[Cc]ould not connect|not listening")


def _held(finding: Finding) -> Iterator[Cause]:
    for kind, pattern in _HELD.items():
        for found in pattern.finditer(finding.failure.output):
            pid = int(found["pid"])
            by = finding.holder(pid) or found["by"] or ""
            yield finding.cause(kind, found["what"], by=by, pid=pid)


def _packages(finding: Finding) -> Iterator[Cause]:
    for name in finding.names(ThingKind.PACKAGE):
        answer = finding.answer(ThingKind.PACKAGE, name)
        policy, _, rest = answer.partition("held:\n")
        held, _, status = rest.partition("status:\n")
        installed = _field(policy, "Installed")
        if name in held.split():
            state = "" if installed == "(none)" else installed
            yield finding.cause(CauseKind.PACKAGE_HELD, name, state=state)
        absent = rest and _field(policy, "Candidate") in ("", "(none)")
        if absent and _NOT_OFFERED.search(finding.printed):
            yield finding.cause(CauseKind.PACKAGE_ABSENT, name)
        if _UNFINISHED.search(status):
            yield finding.cause(CauseKind.PACKAGE_UNFINISHED, name, state=status.split("\n")[0])


_NOT_OFFERED = re.compile(r"Unable to locate|no installation candidate|not available|[Nn]o package")
_UNFINISHED = re.compile(r"half-|unpacked|triggers-|reinst")


def _field(text: str, name: str) -> str:
    found = re.search(rf"^ *{name}: (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


_ABSENT = 2
"""The exit code with which `getent` says that there is no such entry."""


def _names(finding: Finding) -> Iterator[Cause]:
    missing = {
        ThingKind.HOST: CauseKind.NAME_UNRESOLVED,
        ThingKind.ACCOUNT: CauseKind.ACCOUNT_MISSING,
        ThingKind.GROUP: CauseKind.GROUP_MISSING,
    }
    for kind, cause in missing.items():
        for name in finding.names(kind):
            answer = finding.answer(kind, name)
            if read.exit_status(answer) == _ABSENT:
                yield finding.cause(cause, name)
            elif kind is ThingKind.ACCOUNT and _NO_LOGIN.search(finding.failure.output):
                shell = read.answer_before_exit(answer).rpartition(":")[2]
                if shell.endswith(("nologin", "false")):
                    yield finding.cause(CauseKind.LOGIN_REFUSED, name, state=shell)


_NO_LOGIN = re.compile(r"currently not available|nologin|cannot execute")


def _logs(finding: Finding) -> Iterator[Cause]:
    for name in finding.names(ThingKind.LOG):
        line = telling_line(finding.answer(ThingKind.LOG, name), required=True)
        if line:
            yield finding.cause(CauseKind.LOG_LINE, name, line=line)


def telling_line(text: str, *, required: bool = False) -> str:
    """The last line that contradicts an assumption, otherwise the last one unless `required`."""
    lines = [line.strip()[:_LONGEST] for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if contradictions(line)]
    if not telling and required:
        return ""
    return next(reversed(telling or lines), "")


OF_THINGS: tuple[Callable[[Finding], Iterator[Cause]], ...] = (
    _ports,
    _held,
    _packages,
    _names,
    _units,
    _logs,
)
"""Each reads one kind of thing; causes of paths are in `workers.evidence.path_causes`."""
