"""The scripts under every sh that hosts have, over SSH, and with many files."""

import os
import subprocess
from pathlib import Path

import pytest

from shared.domain.target import Repository
from shared.domain.workspace import LeftOut, Why
from shared.domain.workspace_limits import WorkspaceLimits
from tests.integration.remote.hosts import ssh_host
from tests.integration.remote.shells import READ_BY, machine
from tests.integration.workspaces.machines import ShOfAMachine
from tests.integration.workspaces.sources import Source
from tests.services.sshd import SshServer
from workers.agents.repository_check import check_repository
from workers.agents.workspaces.workspaces import Workspaces
from workers.shells.ports import Shell
from workers.shells.remote.connections import HostConnections

PASS, ATTEMPT, NEXT = "R1-1-r0-p1", "R1-1-r0-1-p1-t0", "R1-1-r0-1-p1-t1"


def exercise(shell: Shell, source: Source) -> None:
    """Every script once, with its branches for what is odd."""
    source.commit(**{".gitignore": "*.log\n", "sub/.gitattributes": "*.bin filter=lfs\n"})
    (source.folder / "out").symlink_to("/nowhere")
    source.commit()
    source.write(".env", "secret")
    for name in (".env", "new"):
        source.write(name, name)
    setup = "mkdir -p deps; echo 1 >deps/lib"
    repository = Repository("app", "here", str(source.folder), setup=setup, copied=(".env",))
    workspaces = Workspaces(shell, repository, limits=WorkspaceLimits(largest=100_000))

    checked = check_repository(shell, repository)
    base = workspaces.base(PASS)
    workspace = workspaces.prepare(base.sha, ATTEMPT)
    tree = Path(workspace.path)
    (tree / "empty").mkdir()
    Source.at(tree / "nested", file="x")
    (tree / "a.log").write_text("log")
    (tree / "large\nname").write_bytes(os.urandom(200_000))
    (tree / "sub/.GIT").write_text("odd")
    (tree / "code").write_text("changed")
    first = workspaces.snapshot(workspace, "it's a label", whole=True)
    (tree / "code").unlink()
    second = workspaces.snapshot(workspace)
    other = workspaces.prepare(base.sha, NEXT, tree=first.tree)

    assert (checked.fault, checked.commit) == (None, base.sha)
    assert checked.notices == tuple(each.kind for each in base.notices)
    assert {each.kind for each in base.notices} == {"uncommitted", "lfs", "links_out"}
    assert {each.why for each in first.left_out} == set(Why) - {Why.HISTORY}
    assert LeftOut("large\nname", Why.LARGE_OR_UNREADABLE) in first.left_out
    assert (tree / ".env").read_text() == Path(other.path, ".env").read_text() == ".env"
    assert Path(other.path, "nested/file").read_text() == "x"
    assert workspaces.changed(first.tree, second.tree).paths == ("code",)
    assert workspaces.changed(base.sha, workspace.begun).paths == ("deps/lib",)
    assert workspaces.patch(first.tree, second.tree).text.startswith(b"diff --git a/code b/code\n")
    assert workspaces.restore(workspace, first.tree) == second.tree
    assert (tree / "code").read_text() == "changed"
    assert workspaces.links_out(base.sha) == ("out",)
    assert workspaces.usage().attempts.keys() == {ATTEMPT, NEXT}
    collected = workspaces.collect(0, idle=0)
    assert (collected.removed, collected.unkept) == ((NEXT,), (ATTEMPT,))


@pytest.mark.parametrize("sh", READ_BY)
def test_every_sh_runs_them(sh: str, tmp_path: Path, source: Source) -> None:
    """With busybox, every tool but git is busybox's own."""
    found = machine(tmp_path, sh)
    tools = tmp_path / "tools"
    if not (tools / "git").exists():
        git = subprocess.run(["which", "git"], capture_output=True, text=True, check=True)
        (tools / "git").symlink_to(git.stdout.strip())

    exercise(ShOfAMachine(found.sh, found.path, found.home), source)


def test_they_run_over_ssh(sshd: SshServer) -> None:
    """As on this machine; the folder is below the account's home."""
    source = Source.at(sshd.home / "source", readme="hello\n", code="print(1)\n")
    connections = HostConnections()
    try:
        exercise(connections.shell(ssh_host(sshd)), source)
    finally:
        connections.close()


def test_five_thousand_files(workspaces: Workspaces, source: Source) -> None:
    """All of them get there, and every change is found."""
    names = [f"d{number % 50}/e{number % 7}/f{number}" for number in range(5000)]
    source.commit(**dict.fromkeys(names, "x"))
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)
    for name in names[::100]:
        Path(workspace.path, name).write_text("y")
    found = workspaces.changed(workspace.begun, workspaces.snapshot(workspace).tree)

    assert workspace.begun == source.git("rev-parse", "HEAD^{tree}")
    assert set(found.paths) == set(names[::100])
