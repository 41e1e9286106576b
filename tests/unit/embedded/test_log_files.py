"""The logs of several processes as one: in order, each line once, whatever becomes of the files."""

import json
from pathlib import Path

from orchestrator.embedded.log_files import LogFiles


def event(second: int, name: str) -> str:
    return json.dumps({"event": name, "timestamp": f"2026-11-24T00:00:{second:02}.5Z"}) + "\n"


def written(folder: Path) -> LogFiles:
    """Three processes that each write in a way of their own."""
    (folder / "coordinator.log").write_text(event(1, "one") + "Traceback\n" + event(5, "five"))
    (folder / "postgres.log").write_text(
        "2026-11-24 00:00:02.100 UTC [7] LOG:  two\n2026-11-24 00:00:04.100 UTC [7] LOG:  four\n"
    )
    (folder / "gateway.log").write_bytes(b"\xff no time\n" + event(3, "three").encode())
    return LogFiles(folder)


def told(files: LogFiles) -> list[str]:
    found = []
    for line in files.new_lines():
        named = line.event
        found.append(f"{line.name}: {line.text if named is None else named['event']}")
    return found


def test_lines_come_in_their_order(tmp_path: Path) -> None:
    assert told(written(tmp_path)) == [
        "gateway: \ufffd no time",
        "coordinator: one",
        "coordinator: Traceback",
        "postgres: 2026-11-24 00:00:02.100 UTC [7] LOG:  two",
        "gateway: three",
        "postgres: 2026-11-24 00:00:04.100 UTC [7] LOG:  four",
        "coordinator: five",
    ]


def test_what_is_added_comes_once_and_in_whole_lines(tmp_path: Path) -> None:
    files = written(tmp_path)
    files.new_lines()
    assert files.new_lines() == []
    with (tmp_path / "gateway.log").open("a") as log:
        log.write(event(6, "six") + "ha")
        log.flush()
        assert told(files) == ["gateway: six"]
        log.write("lf\n")
    (tmp_path / "executor-1.log").write_text(event(7, "seven"))
    assert told(files) == ["gateway: half", "executor-1: seven"]


def test_a_file_that_was_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    files = written(tmp_path)
    files.new_lines()
    log = tmp_path / "coordinator.log"
    log.replace(tmp_path / "coordinator.log.1")
    log.write_text(event(8, "eight"))
    assert told(files) == ["coordinator: eight"]


def test_one_process_alone(tmp_path: Path) -> None:
    files = written(tmp_path)
    files.name = "coordinator"
    assert told(files) == ["coordinator: one", "coordinator: Traceback", "coordinator: five"]
    assert files.names() == ("coordinator", "gateway", "postgres")


def test_of_a_long_file_only_the_end_is_read(tmp_path: Path) -> None:
    """And that in whole lines."""
    line = "x" * 999 + "\n"
    (tmp_path / "executor-1.log").write_text("begin\n" + line * 2_000)
    found = LogFiles(tmp_path).new_lines()
    assert 900 < len(found) <= 1_000
    assert {len(each.text) for each in found} == {999}
