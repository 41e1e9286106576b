"""What a command left running is told from what others started, without a process for each."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

PART = Path("workers/shells/remote/ending.sh").resolve()
MANY = 20

SCRIPT = """
newline='
'
greps= stayed= runner_pid=$$ own_mark=REPLAN_ATTEMPT=mine
stat_of() { read -r line </proc/"$1"/stat; name=${line%)*}; }
began() { stat_of "$1"; }
. "$PART"
tr() { echo "$1" >>"$TURNED"; command tr "$@"; }
stats=$(cat $STATS) environs=$ENVIRONS
keep_own
echo $stayed
"""


@pytest.fixture
def sleeping() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes in sessions of their own: the first has our mark, the last none, others theirs."""
    marks = ["mine", *(f"other-{n}" for n in range(MANY)), None]
    started = [
        subprocess.Popen(
            ("sleep", "300"),
            env={"PATH": "/usr/bin:/bin"} | ({} if mark is None else {"REPLAN_ATTEMPT": mark}),
            start_new_session=True,
        )
        for mark in marks
    ]
    yield started
    for each in started:
        each.kill()
    for each in started:
        each.wait()


def test_one_process_reads_the_marks_of_all(
    sleeping: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    turned = tmp_path / "turned"
    environ = {
        "PATH": "/usr/bin:/bin",
        "TURNED": str(turned),
        "PART": str(PART),
        "STATS": " ".join(f"/proc/{each.pid}/stat" for each in sleeping),
        "ENVIRONS": " ".join(f"/proc/{each.pid}/environ" for each in sleeping),
    }
    done = subprocess.run(
        ("sh", "-c", SCRIPT), env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{sleeping[0].pid}(sleep)\n"
    assert not turned.exists()
