"""What the guard says of a plan before anything of it runs: what is refused, and what will ask."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Note
from orchestrator.acts.root_programs import MENTION, needs_root, starts_sudo
from shared.domain.approval import SubtaskPart
from shared.domain.config import Policy, union
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.plan import Step, Subtask, SubtaskKind
from shared.domain.verdict import Verdict
from shared.guard import Guard, PlanGuard, load_site
from shared.guard.effects import programs_in
from shared.guard.shell.parse import UNREADABLE, syntax_error
from shared.secrets.sent import SentSubtask, as_sent, rollback_as_sent

_MOST_SHOWN = 10
_SHOWN = 80
_LOOKS = frozenset({SubtaskPart.CHECK, SubtaskPart.PRECONDITION})


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """A text of a plan, where it stands, and what the guard says of it; `host` is empty for any."""

    step: int
    subtask: int
    part: SubtaskPart
    text: str
    verdict: Verdict
    host: str = ""

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        on = f" on {self.host}" if self.host else ""
        return f"step {self.step}, subtask {self.subtask}, {self.part.value}{on}"

    @property
    def shown(self) -> str:
        """The text in one line: its first one, if it has several."""
        first, _, rest = self.text.strip().partition("\n")
        line = " ".join(first.split())
        return f"{line[:_SHOWN]}…" if rest or len(line) > _SHOWN else line


def verdicts_on_steps(
    guard: Guard, steps: Iterable[Step], host: str = "", start: str | None = None
) -> tuple[TextVerdict, ...]:
    """The verdict on every text that the steps may send to a host, as its executor would judge it.

    Each is judged in the knowledge of all others; commands start in the folder `start`, None if it
    is not known. Raises Rejected where a text names a secret in a way in which no command can
    receive it.
    """
    texts = [(step.ordinal, *found) for step in steps for found in _texts(step)]
    of_shells = (sent for _, planned, _, sent in texts if planned.kind is not SubtaskKind.CODE)
    judge = PlanGuard(guard, of_shells, start=start)
    return tuple(
        TextVerdict(
            step, planned.ordinal, part, _written(planned, part, sent), judge.judge(sent), host
        )
        for step, planned, part, sent in texts
    )


def _texts(step: Step) -> Iterator[tuple[Subtask, SubtaskPart, str]]:
    for planned in step.subtasks:
        sent: SentSubtask = as_sent(planned)
        for part, text in sent.shell_texts():
            yield planned, part, text
        if planned.rollback:
            yield planned, SubtaskPart.ROLLBACK, rollback_as_sent(planned).command


@dataclass(frozen=True, slots=True)
class RootText:
    """A text of a plan that needs root: it starts sudo (`asks`), or only root can carry it out."""

    step: Step
    subtask: int
    part: SubtaskPart
    asks: bool


def texts_of_root(step: Step) -> Iterator[RootText]:
    """The texts of a step that need root, as far as that is known."""
    for subtask, part, sent in _texts(step):
        if subtask.kind is SubtaskKind.CODE and part is SubtaskPart.COMMAND:
            continue
        if not MENTION.search(sent):
            continue
        programs = programs_in(sent)
        asks = starts_sudo(programs)
        if asks or (part is SubtaskPart.COMMAND and needs_root(programs)):
            yield RootText(step, subtask.ordinal, part, asks)


def _written(planned: Subtask, part: SubtaskPart, sent: str) -> str:
    """The text as the plan has it, where that is known."""
    match part:
        case SubtaskPart.COMMAND:
            return planned.command
        case SubtaskPart.ROLLBACK:
            return planned.rollback or sent
        case SubtaskPart.CHECK:
            return planned.check or sent
        case SubtaskPart.PRECONDITION:
            return sent


def stops_of_steps(
    caller: Caller, steps: Iterable[Step], targets: Iterable[str], policy: Policy
) -> tuple[TextVerdict, ...]:
    """What of a plan by hand will wait for a person.

    Raises Rejected, with the place and the rule, for a text that is forbidden on one of its
    targets or that no shell can parse, unless it is a dry run; Misconfigured for a policy that
    cannot be used.
    """
    site = load_site(caller.settings.server.guard_policy)
    forbidden = union(caller.settings.agent.forbidden_commands, policy.forbidden_commands)
    listed = tuple(steps)
    guards: dict[str, Guard] = {}
    judged: set[tuple[str, str | None]] = set()
    waiting: dict[tuple[int, int, SubtaskPart, str], TextVerdict] = {}
    for target, start in starts_on(caller, targets).items():
        rules = site.for_host(target, forbidden)
        if (rules.version, start) in judged:
            continue
        judged.add((rules.version, start))
        if rules.version not in guards:
            guards[rules.version] = Guard(rules)
        for found in verdicts_on_steps(guards[rules.version], listed, target, start):
            if not policy.dry_run_mode and (why := _never_runs(found)):
                raise _refusal(found, why)
            if not found.verdict.allowed:
                key = (found.step, found.subtask, found.part, found.text)
                waiting.setdefault(key, found)
    return tuple(waiting.values())


def starts_on(caller: Caller, targets: Iterable[str]) -> dict[str, str | None]:
    """The targets, each with the folder in which its commands start; None if it is not known.

    Raises Misconfigured and Transient for the database.
    """
    from shared.store.targets import start_of  # loads SQLAlchemy

    with caller.database.reading() as connection:
        return {target: start_of(connection, target) for target in targets}


def stop_notes(stops: tuple[TextVerdict, ...]) -> tuple[Note, ...]:
    """The same in words, those of the first ones."""
    return tuple(_notes(stops))


def _notes(waiting: tuple[TextVerdict, ...]) -> Iterator[Note]:
    for found in waiting[:_MOST_SHOWN]:
        unless = ", unless the host contains looks" if found.part in _LOOKS else ""
        waits = f"waits for approval{unless}: {found.verdict.reason}"
        yield Note(f"{found.place}: `{found.shown}` {_never_runs(found) or waits}")
    if len(waiting) > _MOST_SHOWN:
        yield Note(f"{len(waiting) - _MOST_SHOWN} more texts of the plan would stop it")


def _never_runs(found: TextVerdict) -> str:
    """Why no approval could help a text; empty if one may."""
    if found.verdict.denied:
        return f"is forbidden: {found.verdict.reason}"
    error = syntax_error(found.text) if found.verdict.rule == UNREADABLE else ""
    return error and f"is not a valid shell command: {error}"


def _refusal(found: TextVerdict, why: str) -> Rejected:
    return Rejected(
        f"{found.place}: `{found.shown}` {why}",
        stage="guard",
        next_step=NextStep.of("guard check", found.text, host=found.host),
    )
