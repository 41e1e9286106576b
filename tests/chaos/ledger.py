"""The oracle's own record, outside everything that is tested: what each command wrote about itself.

A command appends `B <id>` when it begins and `E <id>` when it has done its work, each in one write
to a file opened for appending, so that lines of commands side by side do not mix.
"""

import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Record:
    """How often each command began, and how often it came to its end."""

    begun: Counter[str]
    ended: Counter[str]

    @property
    def unfinished(self) -> int:
        """Commands that began and were ended by somebody before their own end."""
        return (self.begun - self.ended).total()


@dataclass(slots=True)
class Counted:
    """How far a ledger has been counted, in bytes, and the beginnings so far."""

    place: int = 0
    begun: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """The file, and the words with which a command writes into it."""

    file: Path
    _counted: Counted = field(default_factory=Counted, compare=False)

    def prepare(self) -> None:
        """Make it, for any account of this machine to append to."""
        self.file.touch()
        self.file.chmod(0o666)

    def begins(self, name: str) -> str:
        """The shell words that record a beginning."""
        return self._append("B", name)

    def ends(self, name: str) -> str:
        """The shell words that record an end."""
        return self._append("E", name)

    def read(self) -> Record:
        """What it says now."""
        record = Record(Counter(), Counter())
        for line in self.file.read_text().splitlines():
            mark, _, name = line.partition(" ")
            {"B": record.begun, "E": record.ended}[mark][name] += 1
        return record

    def count_begun(self) -> int:
        """How many beginnings it has now; cheap, however long it has become."""
        with self.file.open("rb") as file:
            file.seek(self._counted.place)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        self._counted.place += whole
        self._counted.begun += sum(line.startswith(b"B ") for line in text[:whole].splitlines())
        return self._counted.begun

    def _append(self, mark: str, name: str) -> str:
        return f"printf '{mark} %s\\n' {name} >>{shlex.quote(str(self.file))}"
