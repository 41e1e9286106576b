"""Previews of an account that is not root, among folders and files of others."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from shared.domain.host import LOCALHOST
from shared.domain.preview import ChangeKind, Preview, UnseenKind
from shared.guard import Guard, load_site
from shared.secrets.masking import Masker
from tests.integration.remote.shells import Machine, MachinePool
from tests.services.availability import UnavailableError, give_up, needs_root
from tests.services.processes import marked
from tests.services.ring import eventually
from workers.roles.previews import reading_of
from workers.shells.ports import PassRecord
from workers.shells.preview import Wanted, preview
from workers.shells.remote.shell import RunnerShell

pytestmark = needs_root

ACCOUNT = 54321


class Among:
    """A folder of the account in one of root, beside a file of root that anybody may write to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for each in ("home", "site/shop"):
            (folder / each).mkdir(parents=True)
            os.chown(folder / each, ACCOUNT, ACCOUNT)
        (folder / "site/shop/page").write_text("old\n")
        os.chown(folder / "site/shop/page", ACCOUNT, ACCOUNT)
        (folder / "site/shared").write_text("old\n")
        (folder / "site/shared").chmod(0o666)
        ids = (f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups")
        sh = Path(shutil.which("sh") or "/bin/sh")
        path = f"{folder}/programs:{os.environ['PATH']}"
        login = ("setpriv", *ids, "env", f"PATH={path}", str(sh))
        self._machine = Machine(sh, path, folder / "home", login)

    def program(self, name: str, text: str) -> None:
        """Put a script in the way of a program of the host; `REAL` in it is that program."""
        file = self.folder / "programs" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text.replace('REAL', shutil.which(name) or name)}\n")
        file.chmod(0o755)

    def preview(self, command: str) -> Preview:
        """What the command would change, as the account."""
        with MachinePool(self._machine) as pool:
            record = PassRecord("ab/1-1-1-1", 1, False, 1.0, lambda: 600.0, lambda: False)
            shell = RunnerShell(LOCALHOST, pool, record)
            guard = Guard(load_site(None).for_host(None))
            wanted = Wanted(command.replace("DIR", str(self.folder)), "")
            found = preview(shell, wanted, partial(reading_of, guard), Masker())
            shell.close()
        if found.none is not None:
            give_up(UnavailableError(f"this machine gives no previews: {found.none}"))
        return found


@pytest.fixture
def among() -> Iterator[Among]:
    with tempfile.TemporaryDirectory(prefix="replan-preview-") as folder:
        Path(folder).chmod(0o755)
        yield Among(Path(folder))
        # The watch of a runner writes its last records a moment later.
        eventually(lambda: not marked(f"HOME={folder}/home"), "the end of all runners", 30)


def test_a_change_below_a_folder_of_another_account_is_shown(among: Among) -> None:
    """An overlay of the account cannot copy that folder; nothing else of it counts as changed."""
    found = among.preview("sed -i s/old/new/ DIR/site/shop/page; mkdir -p DIR/site/shop/a/b")
    page, made, inner = sorted(
        found.changes, key=lambda change: ("page" not in change.path, change.path)
    )
    assert (page.kind, page.path) == (ChangeKind.CHANGED, f"{among.folder}/site/shop/page")
    assert "+new" in page.diff
    assert {made.kind, inner.kind} == {ChangeKind.CREATED}
    assert (found.unseen, found.exit_code) == ((), 0)


def test_what_the_account_makes_is_said_to_be_its_own(among: Among) -> None:
    """In a preview it is root, as the kernel has it for who may not be anybody else."""
    (made,) = among.preview("echo x > DIR/site/shop/new").changes
    assert made.after is not None
    assert (made.after.owner, made.after.group) == (ACCOUNT, ACCOUNT)


def test_the_folder_of_another_account_stays_closed(among: Among) -> None:
    found = among.preview("! touch DIR/site/mine")
    assert (found.changes, found.exit_code) == ((), 0)


def test_a_file_of_another_account_is_said_to_need_rights(among: Among) -> None:
    """The kernel copies it for nobody who could not give it its owner."""
    found = among.preview("echo more >> DIR/site/shared")
    assert UnseenKind.RIGHTS in {each.kind for each in found.unseen}


def test_a_folder_that_goes_before_it_was_opened_is_not_a_change(among: Among) -> None:
    """Others make and remove folders meanwhile."""
    gone = among.folder / "gone/inner"
    among.program("find", f'REAL "$@"; for each do [ "$each" != -writable ] || echo {gone}; done')
    found = among.preview("echo new > DIR/site/shop/page")
    assert [each.path for each in found.changes] == [f"{among.folder}/site/shop/page"]
    assert (found.unseen, found.exit_code) == ((), 0)


def test_a_folder_that_goes_while_the_command_runs_is_not_a_change(among: Among) -> None:
    brief = among.folder / "brief"
    (brief / "mine").mkdir(parents=True)
    os.chown(brief / "mine", ACCOUNT, ACCOUNT)
    asked = among.folder / "home/asked"
    among.program("mkfifo", f'touch {asked}; while [ -d {brief} ]; do sleep 0.01; done; REAL "$@"')

    def remove() -> None:
        eventually(asked.exists, "the preview to have opened all folders", 30)
        shutil.rmtree(brief)

    with ThreadPoolExecutor() as pool:
        removed = pool.submit(remove)
        found = among.preview("echo new > DIR/site/shop/page")
        removed.result()
    assert [each.path for each in found.changes] == [f"{among.folder}/site/shop/page"]
    assert (found.unseen, found.exit_code) == ((), 0)
