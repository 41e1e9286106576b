"""What a person is told of commands that need root on a host where they cannot have it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Note
from orchestrator.acts.plan_verdicts import RootText, texts_of_root
from shared.domain.approval import SubtaskPart
from shared.domain.host import SudoFound
from shared.domain.next_step import NextStep
from shared.domain.plan import Step
from shared.store import hosts, targets

_TOLD = {
    SudoFound.ABSENT: "there is no sudo",
    SudoFound.NO: "sudo asks this account for a password, or refuses it",
    SudoFound.YES: "the account may use sudo, which the command does not",
}
_FAILS = {
    True: frozenset({SudoFound.ABSENT, SudoFound.NO}),
    False: frozenset({SudoFound.ABSENT, SudoFound.NO, SudoFound.YES}),
}
"""By whether a text asks for sudo itself: what its host must have of sudo for it to fail."""


@dataclass(frozen=True, slots=True)
class RightsWarning:
    """Texts of a plan that need root, on a host whose last check has `found` that they have not.

    They start sudo themselves if they are `asking`. `texts` counts them; the first stands in that
    step, subtask and part.
    """

    host: str
    found: SudoFound
    asking: bool
    step: int
    subtask: int
    part: SubtaskPart
    texts: int

    @property
    def note(self) -> Note:
        """The warning in words."""
        where = f"step {self.step}, subtask {self.subtask}, {self.part.value}"
        more = f" and {self.texts - 1} more" if self.texts > 1 else ""
        why = "its last check found that" if self.asking else "it needs root, and"
        told = f"{where}{more} will fail on {self.host}: {why} {_TOLD[self.found]}"
        return Note(told, NextStep.of("host check", self.host))


def warnings_on_rights(
    caller: Caller, steps: Iterable[Step], on: Iterable[str]
) -> tuple[RightsWarning, ...]:
    """What of the steps needs root where their hosts, when last checked, could not give it."""
    found = [each for step in steps for each in texts_of_root(step)]
    if not found:
        return ()
    places = {each.step.repository for each in found}
    with caller.database.begin() as connection:
        reached = {
            (repository, target): targets.host_of(connection, repository or target)
            for target in dict.fromkeys(on)
            for repository in places
        }
        names = {host.name for host in reached.values() if host is not None}
        sudo = hosts.sudo_found(connection, names)
    by_repository: dict[str | None, set[str]] = {}
    for (repository, _), host in reached.items():
        by_repository.setdefault(repository, set()).update(() if host is None else (host.name,))
    return tuple(_warnings(found, by_repository, sudo))


def _warnings(
    found: list[RootText], on: dict[str | None, set[str]], sudo: dict[str, SudoFound]
) -> Iterator[RightsWarning]:
    for name in sorted(sudo):
        for asking in (True, False):
            texts = [e for e in found if e.asks is asking and name in on[e.step.repository]]
            if texts and sudo[name] in _FAILS[asking]:
                first = texts[0]
                place = first.step.ordinal, first.subtask, first.part
                yield RightsWarning(name, sudo[name], asking, *place, len(texts))


def rights_notes(warnings: Iterable[RightsWarning]) -> tuple[Note, ...]:
    """The warnings in words."""
    return tuple(warning.note for warning in warnings)
