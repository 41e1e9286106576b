"""The folders in which a host keeps records are for the account alone."""

import subprocess
from pathlib import Path

from workers.shells.remote.runner_text import opening


def begin(root: Path) -> None:
    """A runner that begins, under a umask that hides nothing, and ends at once."""
    subprocess.run(
        ("/bin/sh", "-c", "umask 022; exec /bin/sh"),
        input=opening("ab", "cd", str(root)),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
    )


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_folder_of_the_records_and_the_one_above_it_are_private(tmp_path: Path) -> None:
    root = tmp_path / ".replan" / "jobs"
    begin(root)
    assert (mode(root), mode(root.parent)) == (0o700, 0o700)
    root.chmod(0o755)
    begin(root)
    assert mode(root) == 0o700
