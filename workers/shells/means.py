"""Shells as the means of a pass: commands and snippets on a host, behind the guard."""

import json
from collections.abc import Callable, Collection, Generator
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count

from shared.domain.acceptance import Proofs
from shared.domain.attempt import Attempt, CommandResult, EndedBy, Ran
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from shared.domain.preview import Preview
from shared.domain.question import Question
from shared.domain.verdict import ALLOWED, Verdict
from shared.secrets.sent import SentSubtask
from workers.passes.clock import Clock, wait_unless
from workers.passes.means import Coming, Try
from workers.passes.outcomes import outcome_of
from workers.passes.ports import PassControl
from workers.shells.corrections.correction import FailedCommand, Proposal
from workers.shells.corrections.table import HELD, choose
from workers.shells.door import Containing, Door, HostProbe, Judge, Variables
from workers.shells.ports import Call, Shell
from workers.shells.records import CommandRecord
from workers.shells.snippet_outcomes import question_of, snippet_outcome

_READ_AT_MOST = 65_536
"""Bytes of each stream, from its end, that the corrections read."""

_POLL = (1.0, 2.0, 4.0)
_LONGEST_PROBE = 10.0

Previews = Callable[[Shell, str], Preview]
"""What a command would change on the host of a shell."""


class ShellMeans:
    """Carries out subtasks on one host for one pass; see `workers.passes.means.Means`."""

    kinds: Collection[SubtaskKind] = frozenset({SubtaskKind.COMMAND, SubtaskKind.CODE})
    waits: Collection[str] = frozenset(rule.name for rule in HELD)

    def __init__(
        self,
        shell: Shell,
        guard: Judge,
        control: PassControl,
        clock: Clock,
        *,
        check_timeout: float,
        looks: Judge | None = None,
        variables: Variables | None = None,
        containing: Containing | None = None,
        proofs: Proofs | None = None,
        previews: Previews | None = None,
    ) -> None:
        """`looks` judges looks at a host (default: the guard); `check_timeout` is in seconds.

        `variables` are those that a command needs for its secrets. `containing` knows the looks
        that run contained, None for none. `proofs` tells what a check proves; without it, every
        check does.
        """
        self._proofs = proofs
        self._previews = previews
        self._shell = shell
        self._door = Door(
            shell,
            guard,
            withdrawn=control.withdrawn,
            variables=variables,
            containing=containing,
        )
        self._looks = looks or guard
        self._control = control
        self._clock = clock
        self._check_timeout = check_timeout
        self._probe = HostProbe(self._door, min(_LONGEST_PROBE, check_timeout))

    @property
    def gave_secrets(self) -> bool:
        """Whether a command has run with secrets."""
        return self._door.gave_secrets

    def verdict(self, text: str) -> Verdict:
        """The guard's verdict on a text; the guard judges each text once."""
        return self._door.verdict(text)

    def check_verdict(self, text: str) -> Verdict:
        """The verdict on a check or a precondition."""
        return self._door.look_verdict(text)

    def look_verdict(self, text: str) -> Verdict:
        """The verdict on a text that may only look."""
        return ALLOWED if self._door.is_contained(text) else self._looks.judge(text)

    def preview(self, text: str) -> Preview | None:
        """What a command would change on the host, unless the guard denies it."""
        if self._previews is None or self._door.verdict(text).denied:
            return None
        return self._previews(self._shell, text)

    def settles(self, check: str) -> bool:
        """Whether it looks at the host, and changes nothing."""
        return self._proofs is None or self._proofs.proves(check)

    def permit(self, text: str, key: str) -> None:
        """Let a text run under that key, unless the guard denies it."""
        self._door.permit(text, key)

    def look(self, text: str, *, timeout: float, key: str | None = None) -> CommandResult:
        """Run a check or a precondition."""
        return self._door.look(Call(text, timeout, key=key))

    def recall(self, key: str) -> Try | None:
        """The try that was started under that key."""
        known = self._door.recall(key)
        return None if known is None else _try_of(known)

    def run(
        self, subtask: SentSubtask, draft: Attempt, this: Try, *, may_change: bool
    ) -> tuple[Try, CommandResult]:
        """Run a command, and repeat it while somebody else holds what it needs."""
        call = Call(
            this.command, subtask.timeout + this.allowance, key=draft.key, label=_label(this)
        )
        run = partial(
            self._door.run,
            on_output=partial(self._control.output, draft.key),
            cancelled=partial(self._control.unwanted, draft.key),
        )
        result = run(call)
        if not result.exit_code or not may_change or subtask.kind is not SubtaskKind.COMMAND:
            return this, result
        return self._while_held(subtask, this, result, call, run)

    def outcome(
        self, subtask: SentSubtask, result: Ran, check: CommandResult | None
    ) -> tuple[Outcome, str]:
        """The outcome of a command or of a snippet (S1.26)."""
        outcome, reason = outcome_of(result, check)
        if subtask.kind is SubtaskKind.CODE and isinstance(result, CommandResult):
            return snippet_outcome(subtask, result, outcome, reason)
        return outcome, reason

    def question(self, attempt: Attempt) -> Question | None:
        """What a snippet asks."""
        return question_of(attempt)

    def remedy(
        self,
        subtask: SentSubtask,
        failed: Attempt,
        planned: str,
        *,
        used: Collection[str],
        tried: Collection[str],
    ) -> Try | None:
        """The first correction with a new proposal.

        A snippet has none, and neither has a command that its timeout ended.
        """
        if subtask.kind is not SubtaskKind.COMMAND or failed.outcome is Outcome.TIMED_OUT:
            return None
        failure = _failure(subtask, failed.result, failed.check, planned)
        found = choose(failure, self._probe, used=used, tried=tried)
        if found is None or not self._is_time_for(found[1]):
            return None
        rule, proposal = found
        return Try(proposal.text, rule.name, proposal.command, proposal.allowance)

    def pipeline(self, coming: Generator[Coming]) -> None:
        """Announce to the host what comes next."""
        self._door.pipeline(self._calls(coming))

    def cancel_pipeline(self) -> None:
        """Start nothing more of what was announced."""
        self._door.cancel_pipeline()

    def close(self) -> None:
        """Release the shell."""
        self._shell.close()

    def _calls(self, coming: Generator[Coming]) -> Generator[Call]:
        with closing(coming):
            for each in coming:
                yield from self._calls_of(each)

    def _calls_of(self, each: Coming) -> Generator[Call]:
        subtask, timeout = each.subtask, self._check_timeout
        if subtask.check is not None and self.settles(subtask.check):
            yield Call(subtask.check, timeout, ends_well=each.satisfied)
            if each.satisfied:
                return
        for precondition in subtask.preconditions:
            yield Call(precondition, timeout)
        command = subtask.command
        yield Call(command, subtask.timeout, key=each.key, label=_label(Try(command)))
        if subtask.check is not None:
            yield Call(subtask.check, timeout)

    def _while_held(
        self,
        subtask: SentSubtask,
        this: Try,
        result: CommandResult,
        call: Call,
        run: Callable[[Call], CommandResult],
    ) -> tuple[Try, CommandResult]:
        """Wait until somebody else releases a lock, and repeat: the attempt goes on, uncounted.

        The try names the rule that waited, unless it is already a remedy.
        """
        waited = 0.0
        for repetition in count(1):
            if not result.exit_code:
                break
            failure = _failure(subtask, result, None, this.command, waited)
            found = choose(failure, self._probe, rules=HELD)
            if found is None or not self._door.verdict(found[1].text).allowed:
                break
            rule, proposal = found
            if not wait_unless(self._control.cancelled, self._clock, proposal.pause):
                return this, replace(result, ended_by=EndedBy.CANCEL)
            waited += proposal.pause
            this = replace(
                this,
                command=proposal.text,
                remedy=this.remedy or rule.name,
                planned=this.source,
            )
            again = replace(
                call,
                command=proposal.text,
                timeout=call.timeout + proposal.allowance,
                key=f"{call.key}.{repetition}",
            )
            result = run(again)
        return this, result

    def _is_time_for(self, proposal: Proposal) -> bool:
        """Wait as a proposal asks; False if its condition does not come true, or on a cancel.

        A condition that the guard does not allow counts as true.
        """
        if not wait_unless(self._control.cancelled, self._clock, proposal.pause):
            return False
        if proposal.until is None or not self._door.verdict(proposal.until).allowed:
            return True
        waited = 0.0
        while not self._probe.holds(proposal.until):
            pause = next((p for p in _POLL if p > waited), _POLL[-1])
            if waited + pause > proposal.patience:
                return False
            if not wait_unless(self._control.cancelled, self._clock, pause):
                return False
            waited += pause
        return True


def _label(this: Try) -> str:
    """The text that the host keeps with a command, for the next driver of the pass."""
    return json.dumps([this.remedy, this.source])


def _try_of(record: CommandRecord) -> Try:
    remedy, planned = json.loads(record.label)
    return Try(record.command, remedy, planned)


def _failure(
    subtask: SentSubtask,
    result: Ran | None,
    check: CommandResult | None,
    command: str,
    waited: float = 0.0,
) -> FailedCommand:
    out, err = result.streams if result else (b"", b"")
    return FailedCommand(
        command=command,
        exit_code=result.exit_code if isinstance(result, CommandResult) else None,
        stdout=_tail(out),
        stderr=_tail(err),
        check=subtask.check,
        check_output=_tail(check.stderr + check.stdout) if check else "",
        waited=waited,
    )


def _tail(stream: bytes) -> str:
    return stream[-_READ_AT_MOST:].decode(errors="replace")
