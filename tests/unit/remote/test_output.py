"""The output of a command is read whole, whatever the host does to its files meanwhile."""

from dataclasses import dataclass, field

import pytest

from workers.shells.remote import output
from workers.shells.remote.capture import Taker
from workers.shells.remote.output import Output
from workers.shells.remote.runner import Ended

FILE = "stem.o.1"
WRITTEN = b"first" + b"x" * 90 + b"last!"
CUT = {f"{FILE}.head": b"first", FILE: b"xlast!", f"{FILE}.cut": b"94\n"}


@dataclass
class CuttingRunner:
    """A host that takes the middle out of the file at the n-th request for it."""

    steps: list[dict[str, bytes]]
    files: dict[str, bytes] = field(default_factory=lambda: {FILE: WRITTEN})

    def read(self, path: str) -> bytes:
        """The beginning of a file."""
        self._go_on()
        return self.files.get(path, b"")

    def size(self, path: str) -> int:
        """Its size."""
        self._go_on()
        return len(self.files.get(path, b""))

    def fetch(self, path: str, into: Taker) -> int:
        """Read it in two pieces, between which something may happen to it."""
        size = len(self.files.get(path, b""))
        into.take(self.files.get(path, b"")[: size // 2])
        self._go_on()
        into.take(self.files.get(path, b"")[size // 2 : size])
        return size

    def _go_on(self) -> None:
        if self.steps:
            self.files = self.files | self.steps.pop(0)


@pytest.mark.parametrize("quiet", range(4))
@pytest.mark.parametrize("marked", [True, False])
def test_a_file_that_is_cut_while_it_is_read_is_read_again(
    quiet: int, monkeypatch: pytest.MonkeyPatch, *, marked: bool
) -> None:
    """Its end is there: what a runner of an agent says last is its result."""
    monkeypatch.setattr(output, "_CUTTING", 0)
    being_cut = {f"{FILE}.cut": b"0-\n"}
    steps: list[dict[str, bytes]] = [{} for _ in range(quiet)]
    steps += [being_cut, being_cut | {FILE: CUT[FILE]}, CUT] if marked else [being_cut | CUT]
    gathered = Output(None, 1000)
    gathered.gather(CuttingRunner(steps), "stem", Ended(0, number=1, cut=True))  # type: ignore[arg-type]
    found = gathered.captures["stdout"]
    assert found.content() in {WRITTEN, b"first\n[... 89 bytes left out ...]\nxlast!"}


def test_a_file_whose_cutting_never_ends_is_read_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host was restarted in the middle of it."""
    monkeypatch.setattr(output, "_CUTTING", 0)
    gathered = Output(None, 1000)
    runner = CuttingRunner([], {FILE: b"xlast!", f"{FILE}.cut": b"0-\n"})
    gathered.gather(runner, "stem", Ended(0, number=1, cut=True))  # type: ignore[arg-type]
    assert gathered.captures["stdout"].content() == b"xlast!"
