"""A library is read as a whole, and its faults are reported before anything is planned."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.domain.errors import Misconfigured
from shared.runbook.entries import RunbookJob
from shared.runbook.library import read_library

CASES = Path(__file__).parents[2] / "cases" / "runbook" / "unusable.yaml"


def unusable() -> list[Any]:
    """Texts that are not valid runbooks, and the message about each."""
    listed = yaml.safe_load(CASES.read_text())
    return [pytest.param(case["text"], case["says"], id=case["name"]) for case in listed]


@pytest.mark.parametrize(("text", "says"), unusable())
def test_a_file_that_is_no_runbook_is_named_with_its_fault(
    tmp_path: Path, text: str, says: list[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(Misconfigured) as raised:
        read_library([tmp_path])
    assert raised.value.reason.startswith(f"{path} is not a valid runbook: ")
    assert raised.value.next_step
    for words in says:
        assert words in raised.value.reason


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_bytes(b"jobs: \xff")
    with pytest.raises(Misconfigured, match=r"mine\.yaml is not a valid runbook"):
        read_library([tmp_path])


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="gone does not exist"):
        read_library([tmp_path / "gone"])


def test_files_of_other_kinds_and_empty_ones_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# not a runbook")
    (tmp_path / "empty.yaml").write_text("")
    assert read_library([tmp_path]) == read_library()


def test_every_shipped_job_has_its_own_name_and_says_what_comes_of_it() -> None:
    jobs = read_library().jobs
    assert len({job.id for job in jobs}) == len(jobs) >= 15
    assert all(job.summary for job in jobs)


@pytest.mark.parametrize("job", read_library().jobs, ids=lambda job: job.id)
def test_every_parameter_of_a_shipped_job_says_what_it_is(job: RunbookJob) -> None:
    """Those of the two that came first have plain values."""
    if job.id not in {"install-postgresql", "status-service"}:
        assert set(job.forms) == job.names
        assert all(form.about for form in job.forms.values())


def test_folders_of_the_operator_come_before_the_shipped_one(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "a.yml").write_text(
            f"jobs: [{{id: {folder.name}, match: [x], "
            "steps: [{title: s, subtasks: [{run: a}]}]}]"
        )
    ids = [job.id for job in read_library([first, second]).jobs]
    assert ids == ["first", "second", *(job.id for job in read_library().jobs)]
