"""What a delivery costs: published and accepted, beside `git apply` and `git commit`.

python -m benchmarks.deliveries

Fifty files of 5,000 are changed, in a repository with 300 commits. Publishing makes the patch and
proves it, looks for what gates do not let through, and stores the bundle; accepting reads it from
there, merges it with a head that has moved on, and looks again. What git alone does to the same
change is measured in turns with it, in a clone beside. Then a hundred deliveries are accepted.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, Self, TypeVar

from shared.deliveries.bundle import Bundle, Meta, Stats, pack
from shared.deliveries.store import PatchStore
from shared.domain.host import LOCALHOST
from shared.domain.target import Repository
from shared.secrets.masking import Masker
from shared.store.deliveries import StoredDelivery
from tests.integration.workspaces.sources import Source
from workers.agents.workspaces.values import Workspace
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.gates.examine import examine
from workers.deliveries.gates.values import GateInput, GatePolicy
from workers.deliveries.line import Line
from workers.deliveries.merging import merge_behind
from workers.deliveries.publisher import read_for_gates
from workers.shells.ports import Shell
from workers.shells.remote.connections import HostConnections

FILES: Final = 5_000
CHANGED: Final = 50
COMMITS: Final = 300
ROUNDS: Final = 15
QUEUE: Final = 100
_T = TypeVar("_T")
_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)


def name(number: int) -> str:
    """A file of the repository."""
    return f"d{number % 50}/e{number % 7}/f{number}.txt"


def text(number: int, version: int = 0) -> str:
    """Its content: forty lines, of which a version changes one."""
    lines = [f"line {line} of {number}\n" for line in range(40)]
    lines[number % 40] = f"line of version {version}\n"
    return "".join(lines)


@dataclass(frozen=True)
class Scene:
    """A repository, its workspace and its line on this machine, and a clone for git alone."""

    source: Source
    clone: Source
    repository: Repository
    workspaces: Workspaces
    workspace: Workspace
    line: Callable[[], Line]
    store: PatchStore

    @classmethod
    def below(cls, folder: Path, shell: Shell) -> Self:
        """Make them."""
        source = Source.at(folder / "source")
        source.commit(**{name(number): text(number) for number in range(FILES)})
        for number in range(1, COMMITS):
            source.commit(**{name(number): text(number, number)})
        source.git("gc", "--quiet")
        clone = Source(folder / "clone")
        source.git("clone", "--quiet", str(source.folder), str(clone.folder))
        repository = Repository("app", "localhost", str(source.folder))
        root = str(folder / "workspaces")
        workspaces = Workspaces(shell, repository, root=root)
        workspace = workspaces.prepare(workspaces.base("R1").sha, "R1-1-r0-1-p1-t0")

        def line() -> Line:
            return Line(shell, repository, root=root)

        store = PatchStore.open(str(folder / "store"))
        return cls(source, clone, repository, workspaces, workspace, line, store)

    def change(self, turn: int) -> None:
        """Change fifty files of the workspace, others in each turn; a few are new."""
        self.workspaces.restore(self.workspace, self.workspace.begun)
        for number in range(turn * CHANGED, (turn + 1) * CHANGED):
            path = Path(self.workspace.path, name(number if number % 10 else FILES + number))
            path.write_text(text(number, FILES + turn), encoding="utf-8")

    def publish(self, tree: str) -> tuple[StoredDelivery, bytes]:
        """As a pass that is done does it, without its database."""
        line, base = self.line(), self.workspace.base_sha
        found = line.publish(base, tree)
        given = GateInput(
            base,
            tree,
            found.changes,
            patch=found.size,
            policy=GatePolicy.of(self.repository),
            masker=Masker(),
        )
        report = examine(read_for_gates(line, given, base))
        assert not report.refusals
        bundle = Bundle(
            Meta(
                project_id="app",
                session_id="T1@app",
                attempt_id="T1.1-r0-p1",
                issue_id="L-001001",
                base_sha=base,
                result_tree=tree,
                created_at=_AT,
            ),
            found.patch,
            {},
            Stats(len(found.changes), found.added, found.deleted),
        )
        stored = self.store.put(pack(bundle))
        delivery = StoredDelivery(
            run_id=1,
            step=1,
            revision=0,
            pass_no=1,
            attempt_key=None,
            runner=None,
            issue_id="L-001001",
            deliverables={},
            stats={},
            findings=(),
            trust=report.trust,
            sha256=stored.sha256,
            uri=stored.uri,
            size=stored.size,
            base=base,
            tree=tree,
            created_at=_AT,
        )
        return delivery, found.patch

    def accept(self, delivery: StoredDelivery, head: str) -> str:
        """As an acceptor does it, without its database; the new head."""
        merge = merge_behind(
            self.line(),
            head,
            [delivery],
            {1: "Change fifty files"},
            store=self.store,
            repository=self.repository,
            masker=Masker(),
            session="T1@app",
        )
        assert merge.commit is not None, merge.reason
        return merge.commit

    def apply(self, patch: bytes) -> None:
        """What git alone does: apply the patch, and commit."""
        path = self.clone.folder.with_suffix(".patch")
        path.write_bytes(patch)
        self.clone.git("apply", "--index", str(path))
        self.clone.git("commit", "--quiet", "--message=work")


@dataclass
class Clock:
    """Adds up what is done, in milliseconds."""

    spans: list[float]

    def measure(self, act: Callable[[], _T]) -> _T:
        """Do it."""
        begun = time.perf_counter()
        found = act()
        self.spans.append((time.perf_counter() - begun) * 1000)
        return found

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.spans)


def side_by_side(scene: Scene) -> tuple[str, list[StoredDelivery]]:
    """Measure one delivery after another, in turns with git alone; the head after them."""
    kept, published, accepted, both, alone = (Clock([]) for _ in range(5))
    head = scene.workspace.base_sha
    deliveries = []
    for turn in range(ROUNDS + 1):
        scene.change(turn)
        tree = kept.measure(lambda: scene.workspaces.snapshot(scene.workspace)).tree
        delivery, patch = published.measure(partial(scene.publish, tree))
        head = accepted.measure(partial(scene.accept, delivery, head))
        both.spans.append(published.spans[-1] + accepted.spans[-1])
        alone.measure(partial(scene.apply, patch))
        deliveries.append(delivery)
    for clock in (kept, published, accepted, both, alone):
        del clock.spans[0]  # the first delivery is the next commit, and warms up
    print(f"a workspace of {FILES:,} files, kept as a tree: {kept.median:.0f} ms")
    print(f"published: {published.median:.0f} ms; accepted: {accepted.median:.0f} ms")
    print(
        f"both: {both.median:.0f} ms; git apply and commit: {alone.median:.0f} ms; "
        f"{both.median / alone.median:.1f} times"
    )
    return head, deliveries


def one_after_another(scene: Scene, head: str) -> None:
    """Accept a hundred more, and compare the first with the last of them."""
    spans = Clock([])
    for turn in range(ROUNDS + 1, ROUNDS + 1 + QUEUE):
        scene.change(turn % (FILES // CHANGED))
        Path(scene.workspace.path, "turn").write_text(f"{turn}\n" * turn, encoding="utf-8")
        Path(scene.workspace.path, "turn").rename(Path(scene.workspace.path, f"turn{turn}"))
        tree = scene.workspaces.snapshot(scene.workspace).tree
        delivery, _ = scene.publish(tree)
        head = spans.measure(partial(scene.accept, delivery, head))
    first, last = (statistics.median(some) for some in (spans.spans[:20], spans.spans[-20:]))
    print(
        f"accepted one after another: the first of {QUEUE} {first:.0f} ms, the last {last:.0f} ms"
    )


def main() -> None:
    """Measure, and print it."""
    connections = HostConnections()
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene.below(Path(folder), connections.shell(LOCALHOST))
        head, _ = side_by_side(scene)
        one_after_another(scene, head)
    connections.close()


if __name__ == "__main__":
    main()
