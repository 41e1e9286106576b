"""A pass's view of the journal."""

from contextlib import suppress

from shared.domain.attempt import Attempt
from shared.domain.attempt_notes import AttemptNote
from shared.domain.errors import ReplanError
from shared.secrets.masking import Masker
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.secrets import mask_attempt, mask_note

_NOTE_PATIENCE = 5.0
"""Seconds for which an agent waits until a note on it is recorded."""


class HeldLog:
    """A pass's view of the journal: everything is written under the fence of its job.

    `ended` are the keys of the attempts that have ended, `done` those attempts, without secrets.
    """

    def __init__(self, journal: Journal, hold: Hold, masker: Masker) -> None:
        self.ended: set[str] = set()
        self.done: list[Attempt] = []
        self._masker = masker
        self._journal = journal
        self._hold = hold

    def started(self, attempt: Attempt) -> None:
        """An attempt begins."""
        self._journal.begin_attempt(self._hold.job, mask_attempt(attempt, self._masker))

    def output(self, key: str, stream: str, chunk: bytes) -> None:
        """Output of an attempt arrived."""
        self._journal.add_output(self._hold.job, key, stream, chunk)

    def note(self, key: str, note: AttemptNote) -> None:
        """Something that people are told about an attempt."""
        noted = mask_note(note, self._masker)
        written = self._journal.add_note(self._hold.job, key, noted)
        with suppress(TimeoutError, ReplanError):
            written.result(timeout=_NOTE_PATIENCE)

    def finished(self, attempt: Attempt) -> None:
        """An attempt ended."""
        masked = mask_attempt(attempt, self._masker)
        self._journal.end_attempt(self._hold.job, masked)
        self.ended.add(attempt.key)
        self.done.append(masked)

    def cancelled(self) -> bool:
        """True once nothing more may be started."""
        return self._hold.withdrawn.is_set() or self.given_up()

    def withdrawn(self) -> bool:
        """True once a person has cancelled the job."""
        return self._hold.withdrawn.is_set()

    def unwanted(self, key: str) -> bool:
        """True once a person wants that attempt ended."""
        return key in self._hold.unwanted

    def given_up(self) -> bool:
        """True once another worker has the job, or this process wants to stop."""
        hold = self._hold
        return (
            hold.lost.is_set()
            or hold.given_up.is_set()
            or (self._journal.is_refused(hold.job) and not hold.withdrawn.is_set())
        )
