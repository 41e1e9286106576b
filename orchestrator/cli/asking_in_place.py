"""Asking the person at the terminal about what waits, so that a run goes on without another one."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any, Final, TypeVar

from orchestrator.acts import interventions, plans
from orchestrator.acts.done import Done
from orchestrator.acts.offered_rules import with_offers
from orchestrator.acts.whole_plan import asks_of_plan, rest_of_plan
from orchestrator.cli.intervention_text import show_asks, show_evidence, show_request, show_rest
from orchestrator.cli.invocation import Invocation
from orchestrator.cli.live_screen import drop_typed_keys
from orchestrator.cli.posted import UNREAD
from orchestrator.cli.tables import plain
from orchestrator.views.interventions import InterventionView
from orchestrator.views.tasks import TaskView
from orchestrator.words.approvals import describe_account
from orchestrator.words.failures import why_it_waits
from shared.domain.approval import ApprovalRequest, ApprovalScope
from shared.domain.config import ASK
from shared.domain.errors import ReplanError

_APPROVAL: Mapping[str, str] = {
    "a": "approve once",
    "t": "for the task",
    "p": "all of the plan",
    "d": "deny",
    "s": "show",
    "l": "later",
}
_PLAN: Mapping[str, str] = {"a": "approve the plan", "s": "show it", "l": "later"}

_ON_ITS_WAY: Final = 30.0
"""Seconds within which an approval has come to every host."""

Acting = Callable[[], Done[Any]]

T = TypeVar("T")


class Asking:
    """Asks about each thing once; what is put off, or cannot be done, is not asked again.

    A person answers with the acts and the rights of `intervention approve|deny|answer` and of
    `plan approve`. With `ahead`, what a plan may ask is offered for approval before it asks.
    """

    def __init__(self, call: Invocation, *, ahead: bool = False) -> None:
        self._call = call
        self._console = call.console
        self._later: set[int] = set()
        self._to_offer = ahead
        self._approved_ahead: frozenset[str] = frozenset()
        self._approvals_last = 0.0
        self._just_given: dict[str, float] = {}
        """What was approved with something else, and until when it may still ask for that."""

    def offers(self, task: TaskView) -> bool:
        """Whether what its plan may ask is to be offered now: once, as soon as its steps begin.

        It is then this object's to do (`offer`).
        """
        policy = task.policy
        asks = policy.autonomy == ASK and not policy.dry_run_mode
        has_begun = all(run.steps for run in task.runs)
        return self._to_offer and asks and has_begun

    def offer(self, task: TaskView) -> None:
        """Show what the plan may ask, and have all of it approved now if the person says so."""
        self._to_offer = False
        asks = self._done(partial(asks_of_plan, self._call.caller, task.ref))
        if not asks:
            return
        drop_typed_keys()
        many = "1 command" if len(asks) == 1 else f"{len(asks)} commands"
        told = f"[yellow]{task.ref} may ask you about {many} of its plan[/]"
        self._console.print(f"\n{told}", highlight=False)
        show_asks(self._console, asks)
        if self._agrees("approve all of it now (y), or each when it asks (n): "):
            self._approved_ahead = frozenset(each.subject.digest for each in asks)

    def next_of(self, task: TaskView) -> InterventionView | None:
        """The first thing that waits and can be answered here."""
        self._approvals_last = task.policy.approval_ttl
        return next((each for each in task.interventions if self._can_ask(each)), None)

    def ask(self, waits: InterventionView) -> None:
        """Ask until it is answered or put off."""
        drop_typed_keys()
        kind = waits.kind.replace("_", " ")
        told = f"[yellow]{waits.name} waits for you[/] ({kind}) {plain(why_it_waits(waits))}"
        self._console.print(f"\n{told}", highlight=False)
        if waits.kind == "question":
            self._ask_question(waits)
        elif waits.kind == "plan_approval":
            self._ask_about_plan(waits)
        else:
            self._ask_to_approve(waits)

    def _can_ask(self, waits: InterventionView) -> bool:
        known = waits.kind in {"question", "plan_approval"}
        return waits.id not in self._later and (known or waits.approvable)

    def _ask_to_approve(self, waits: InterventionView) -> None:
        caller, name = self._call.caller, waits.name
        if self._was_approved_ahead(waits):
            return
        for wanted in waits.wanted:
            account = describe_account(wanted.user, sudo=wanted.sudo)
            where = f"{wanted.ref} on {wanted.host} ({wanted.address}) as {account}"
            self._console.print(f"  {plain(wanted.command)}", highlight=False, style="bold")
            self._console.print(f"  [dim]{plain(where)}[/]", highlight=False)
        while (chosen := self._choose(_APPROVAL)) in {"s", "p"}:
            if chosen == "s":
                show_evidence(self._console, with_offers(caller, waits))
            elif self._approved_with_rest(waits):
                return
        if chosen == "a":
            self._act_or_put_off(waits, partial(interventions.approve, caller, name))
        elif chosen == "t":
            self._act_or_put_off(
                waits, partial(interventions.approve, caller, name, ApprovalScope.TASK)
            )
        elif chosen == "d":
            note = self._read("why, for its planner (may be empty): ") or ""
            self._act_or_put_off(waits, partial(interventions.deny, caller, name, note))
        else:
            self._put_off(waits)

    def _was_approved_ahead(self, waits: InterventionView) -> bool:
        """Approve what the person has approved before it asked, with all else of that."""
        asked = {each.digest for each in waits.wanted}
        now = monotonic()
        given = {digest for digest, until in self._just_given.items() if now < until}
        if not asked or not asked <= self._approved_ahead | given:
            return False
        rest = self._done(partial(rest_of_plan, self._call.caller, waits.name))
        if rest is None:
            return False
        agreed = [each for each in rest if each.subject.digest in self._approved_ahead]
        # What fails and asks once more is no longer what was agreed to.
        self._approved_ahead -= asked | {each.subject.digest for each in agreed}
        return self._approve_with(waits, agreed)

    def _approved_with_rest(self, waits: InterventionView) -> bool:
        """Show what else of the plan will ask; whether it was approved with what asks now."""
        rest = self._done(partial(rest_of_plan, self._call.caller, waits.name))
        if rest is None:
            return False
        show_rest(self._console, rest)
        if not self._agrees("approve this and all of that (y/n): "):
            return False
        if not self._approve_with(waits, rest):
            self._put_off(waits)
        return True

    def _approve_with(self, waits: InterventionView, rest: Sequence[ApprovalRequest]) -> bool:
        """Whether it was approved with that of its plan, for which another host may yet ask."""
        if not self._act(partial(interventions.approve, self._call.caller, waits.name, rest=rest)):
            return False
        until = monotonic() + min(_ON_ITS_WAY, self._approvals_last)
        self._just_given |= {each.subject.digest: until for each in rest}
        return True

    def _ask_about_plan(self, waits: InterventionView) -> None:
        caller, ref = self._call.caller, waits.ref
        while (chosen := self._choose(_PLAN)) == "s":
            for each in plans.preview_approval(caller, ref).wanted:
                show_request(self._console, each)
        if chosen == "a":
            self._act_or_put_off(waits, partial(plans.approve, caller, ref))
        else:
            self._put_off(waits)

    def _ask_question(self, waits: InterventionView) -> None:
        show_evidence(self._console, waits)
        for number, option in enumerate(waits.options, start=1):
            self._console.print(f"  {number}  {plain(option)}", highlight=False)
        told = "its number, or an answer" if waits.options else "an answer"
        caller, name = self._call.caller, waits.name
        while said := self._read(f"{told} (empty: later): "):
            if self._act(partial(interventions.answer, caller, name, said)):
                return
        self._put_off(waits)

    def _choose(self, ways: Mapping[str, str]) -> str:
        """One of these letters; the last one when nothing more is typed."""
        told = ", ".join(f"{key} {what}" for key, what in ways.items())
        *_, last = ways
        while True:
            said = self._read(f"{told}: ")
            if said is None:
                return last
            if said.lower() in ways:
                return said.lower()
            if said:
                among = ", ".join(ways)
                self._console.print(f"{plain(said)} is not one of {among}", highlight=False)

    def _agrees(self, prompt: str) -> bool:
        """Ask until the answer is yes or no; no more than Enter is no."""
        while (said := self._read(prompt)) is not None:
            if said.lower() in {"y", "yes"}:
                return True
            if said.lower() in {"n", "no", ""}:
                return False
            self._console.print(f"{plain(said)} is not y or n", highlight=False)
        return False

    def _read(self, prompt: str) -> str | None:
        """A line that is typed; None at its end (Ctrl-D)."""
        self._console.out(prompt, end="", highlight=False)
        self._console.file.flush()
        line = sys.stdin.readline()
        if not line:
            self._console.out("")
            return None
        return line.strip()

    def _act_or_put_off(self, waits: InterventionView, act: Acting) -> None:
        if not self._act(act):
            self._put_off(waits)

    def _act(self, act: Acting) -> bool:
        """Whether it was done; if not, the person is told why."""
        done = self._done(act)
        if done is not None and not done.taken:
            self._console.print(UNREAD)
        return done is not None and done.taken

    def _done(self, act: Callable[[], T]) -> T | None:
        """What comes of it; None where it cannot be done, and the person is told why."""
        try:
            return act()
        except ReplanError as error:
            self._console.print(f"[red]{plain(error)}[/]", highlight=False)
            return None

    def _put_off(self, waits: InterventionView) -> None:
        self._later.add(waits.id)
