"""Sessions that have accepted deliveries, and what a test does to their remotes."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Self

from sqlalchemy import text

from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from shared.domain.config import Policy
from shared.domain.delivery_facts import CheckpointFinished
from shared.domain.errors import Rejected
from shared.domain.host import LOCALHOST, Host
from shared.domain.jobs import JobKind
from shared.domain.next_step import ShellCommand
from shared.domain.target import Repository
from shared.secrets.masking import Masker
from shared.store import jobs, repositories
from shared.store.database import Database
from shared.store.jobs import NewJob
from tests.fakes.forge import TOKEN
from tests.integration.workspaces.sources import ALONE, Source, run_git
from tests.journeys.plans import plan, step
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.merge_requests import MergeRequests
from workers.process.leases import Hold
from workers.roles.checkpointer import Checkpointer, CheckpointParts
from workers.shells.ports import Call, PassRecord, Shell
from workers.shells.remote.connections import HostConnections

_ACCEPT = text("""
    WITH run AS (
        UPDATE runs SET head = :head, accepted = accepted + 1 WHERE id = :run RETURNING *
    ), step AS (
        UPDATE run_steps SET phase = 'accepted', accepted_as = step
        WHERE run_id = :run AND step = (SELECT accepted FROM run)
    ), delivery AS (
        INSERT INTO deliveries (run_id, step, revision, pass_no, issue_id, sha256, uri, size, base,
            tree, deliverables, stats, trust, status)
        VALUES (:run, (SELECT accepted FROM run), 0, 1, 'L-001001', :sha256, 'file:', 1, :head,
            :tree, '{}', '{}', 'checks', 'accepted')
        RETURNING id
    )
    INSERT INTO check_runs (delivery_id, turn, status, onto, commit, tree, repository, ok, envelope,
        report)
    SELECT id, 1, 'passed', :head, :head, :tree, 'app', :ok, to_jsonb(CAST(:tree AS text)),
        '{"checks": [{}, {}]}'
    FROM delivery
""")

_REJECT = text("""
    INSERT INTO deliveries (run_id, step, revision, pass_no, issue_id, sha256, uri, size, base,
        tree, deliverables, stats, trust, status, rejection)
    VALUES (:run, :step, 0, 0, 'L-001001', 'rejected', 'file:', 1, '', '', '{}', '{}', 'checks',
        'rejected', 'check')
""")


@dataclass
class Accepted:
    """A session with accepted work; `remote` is the folder of its bare remote."""

    folder: Path
    database: Database
    connections: HostConnections
    source: Source
    repository: Repository
    run: int = 0
    task: int = 0
    token: str = ""
    base: str = ""
    head: str = ""
    parts: CheckpointParts = field(default_factory=lambda: CheckpointParts(str))
    variables: str = ""

    @classmethod
    def at(cls, folder: Path, database: Database, connections: HostConnections) -> Self:
        """A repository with two files, one delivery accepted, and an empty bare remote."""
        source = Source.at(folder / "source", readme="hello\n", code="print(1)\n")
        remote = folder / "a remote's $HOME.git"
        run_git(folder, "init", "--quiet", "--bare", str(remote))
        repository = Repository("app", "localhost", str(source.folder), remote=str(remote))
        made = cls(folder, database, connections, source, repository)
        made.parts = CheckpointParts(str, workspaces=str(made.place))
        with database.begin() as connection:
            repositories.save(connection, repository)
        made.base = made.workspaces().base("R1").sha
        made.open()
        return made

    def open(self) -> None:
        """Open a session, with one delivery accepted."""
        submission = Submission("Fix it", ("app",), Policy(), plan(step(["true"])))
        task = submit(self.database, submission)
        Coordinator(SqlLedger(self.database)).drain()
        with self.database.begin() as connection:
            found = text("SELECT id, token FROM runs WHERE task_id = :task")
            row = connection.execute(found, {"task": task}).one()
            connection.execute(text("UPDATE jobs SET state = 'done'"))
        self.run, self.task, self.token = row.id, task, row.token
        self.head = self.base
        self.accept(code=f"print(1, {task})\n")

    def accept(self, *, ok: bool = True, **files: str) -> str:
        """Accept a delivery with these files; the new head."""
        self.head = self.commit(self.head, **files)
        values = {
            "run": self.run,
            "head": self.head,
            "sha256": self.head,
            "tree": self.tree(self.head),
            "ok": ok,
        }
        with self.database.begin() as connection:
            connection.execute(_ACCEPT, values)
        return self.head

    def commit(self, parent: str, **files: str) -> str:
        """A commit in replan's own git directory, and in no other place."""
        index = {"GIT_INDEX_FILE": str(self.folder / "index")}
        self.git("read-tree", parent, **index)
        for name, content in files.items():
            (self.folder / "content").write_text(content)
            oid = self.git("hash-object", "-w", str(self.folder / "content"))
            self.git("update-index", "--add", "--cacheinfo", f"100644,{oid},{name}", **index)
        tree = self.git("write-tree", **index)
        return self.git("commit-tree", tree, "-p", parent, "-m", "accept " + " ".join(files))

    @property
    def place(self) -> Path:
        """The folder for workspaces on the host."""
        return self.folder / "it's a $HOME"

    @property
    def remote(self) -> Path:
        """The folder of the remote."""
        return Path(self.repository.remote or str(self.source.folder))

    @property
    def branch(self) -> str:
        """The branch of the session on the remote."""
        return f"session/T{self.task}"

    def git(self, *words: str, **environment: str) -> str:
        """Run git in replan's own git directory."""
        folder = self.place / "app/ours.git"
        return run_git(folder, *words, GIT_DIR=str(folder), **environment)

    def tree(self, commit: str) -> str:
        """The tree of a commit."""
        return self.git("rev-parse", f"{commit}^{{tree}}")

    def published(self) -> str | None:
        """The commit of the branch on the remote."""
        name = f"refs/heads/{self.branch}"
        listed = run_git(self.remote, "for-each-ref", "--format=%(objectname)", name)
        return listed or None

    def hook(self, name: str, script: str) -> None:
        """Have the remote run a script."""
        path = self.remote / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def use(self, **changes: Any) -> None:
        """Change the repository as replan knows it."""
        self.repository = replace(self.repository, **changes)
        with self.database.begin() as connection:
            repositories.save(connection, self.repository, replace=True)

    def workspaces(self) -> Workspaces:
        """Those of the repository."""
        shell = self.connections.shell(LOCALHOST)
        return Workspaces(shell, self.repository, root=str(self.place))

    def hold(self, number: int = 1) -> Hold:
        """A claim of the job of that checkpoint: whoever had it before has lost it."""
        with self.database.begin() as connection:
            wanted = NewJob(JobKind.CHECKPOINT, "execution", self.task, self.run, None, 0, number)
            jobs.enqueue(connection, [wanted])
            found = text("SELECT id FROM jobs WHERE run_id = :run AND kind = 'checkpoint'")
            ids = connection.execute(found, {"run": self.run}).scalars().all()
            (job,) = jobs.claim(connection, list(ids), "worker", 600.0)
        return Hold(job, monotonic() + 600.0)

    def checkpoint(
        self, number: int = 1, hold: Hold | None = None, database: Any = None
    ) -> CheckpointFinished:
        """Carry the checkpoint out, or drive it on."""
        performer = Checkpointer(database or self.database, self, self.parts)
        fact = performer.perform(hold or self.hold(number))
        assert isinstance(fact, CheckpointFinished)
        return fact

    def shell(
        self, host: Host, record: PassRecord | None = None, masker: Masker | None = None
    ) -> Shell:
        """A shell on this machine, in whose scripts the `variables` are set."""
        inner = self.connections.shell(host, record, masker)
        return inner if not self.variables else Prefixed(inner, self.variables)

    def close(self) -> None:
        """Nothing to give back."""

    def reject(self, step: int) -> None:
        """An earlier delivery of a step was rejected."""
        with self.database.begin() as connection:
            connection.execute(_REJECT, {"run": self.run, "step": step})

    def cancel(self) -> None:
        """Cancel the session."""
        with self.database.begin() as connection:
            connection.execute(text("UPDATE runs SET phase = 'cancelled'"))

    def distrust(self) -> None:
        """From now on, nobody has signed anything."""

        def refuse(_: object) -> str:
            raise Rejected("no trusted key has signed it", stage="attest")

        self.parts = replace(self.parts, attested=refuse)

    def masks(self, secret: str) -> None:
        """Have a secret hidden in what others say."""
        self.parts = replace(self.parts, mask=lambda said: said.replace(secret, "***"))

    def asks_forge(self) -> None:
        """Have requests to merge opened; a word of the goal is a secret."""
        requests = MergeRequests(
            self.database,
            {"FORGE_TOKEN": TOKEN}.__getitem__,
            lambda said: said.replace("it", "***"),
        )
        self.parts = replace(self.parts, request=requests.have_open)

    def type(self, *commands: ShellCommand, folder: Path | None = None) -> None:
        """Type commands into a shell there."""
        for command in commands:
            subprocess.run(
                ["/bin/sh", "-ec", command.text],
                cwd=folder or self.folder,
                env=os.environ | ALONE,
                check=True,
                capture_output=True,
            )

    def synced(self, number: int = 1) -> dict[str, str]:
        """What was done with each worktree, by what stands behind the run in its name."""
        found = self.row(number).synced
        return {each["name"].removeprefix(f"{self.token}-"): each["outcome"] for each in found}

    def row(self, number: int = 1) -> Any:
        """The row of a checkpoint."""
        query = text("SELECT * FROM checkpoints WHERE run_id = :run AND number = :number")
        with self.database.begin() as connection:
            return connection.execute(query, {"run": self.run, "number": number}).one()


@dataclass(frozen=True)
class Prefixed:
    """A shell that sets variables before each script."""

    inner: Shell
    variables: str

    def run(self, call: Call, **more: Any) -> Any:
        """Run the script with the variables."""
        return self.inner.run(replace(call, command=f"{self.variables}\n{call.command}"), **more)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Everything else is the shell's."""
        found: Callable[..., Any] = getattr(self.inner, name)
        return found


def wrapper(folder: Path, script: str) -> str:
    """The line that puts a program named git before the real one; it runs the script first."""
    folder.mkdir(exist_ok=True)
    program = folder / "git"
    real = shutil.which("git")
    program.write_text(f'#!/bin/sh\nreal={real}\n{script}\nexec $real "$@"\n')
    program.chmod(0o755)
    return f"export PATH={shlex.quote(str(folder))}:$PATH"
