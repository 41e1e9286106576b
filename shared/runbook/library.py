"""The library: the runbook files of this package and of the operator's folders."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shared.contracts.origin import Origin
from shared.contracts.yamltext import read_yaml
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.runbook.entries import Alternative, RunbookFile, RunbookJob, RunbookProject

SHIPPED = Path(__file__).parent / "shipped"


@dataclass(frozen=True, slots=True)
class Library:
    """Every known job and project, and the alternatives for any step; the operator's come first."""

    jobs: tuple[RunbookJob, ...]
    revisions: tuple[Alternative, ...]
    projects: tuple[RunbookProject, ...] = ()

    def find_job(
        self, prompt: str, *, whole: bool = False
    ) -> tuple[RunbookJob, dict[str, str]] | None:
        """The first job that all of the prompt asks for, with its parameters.

        Unless `whole` is wanted, else the first that a part of it asks for.
        """
        for entire in (True,) if whole else (True, False):
            for job in self.jobs:
                parameters = job.asked_in(prompt, whole=entire)
                if parameters is not None:
                    return job, parameters
        return None

    def find_project(self, goal: str) -> RunbookProject | None:
        """The first project that the goal asks for."""
        return next((each for each in self.projects if each.is_asked_in(goal)), None)


def read_library(folders: Iterable[Path] = ()) -> Library:
    """Read the operator's folders and the shipped one.

    Raises Misconfigured for a missing folder and for a file that is not a valid runbook, with the
    location of the fault.
    """
    files = [_read(path) for folder in (*folders, SHIPPED) for path in _paths(folder)]
    return Library(
        jobs=tuple(job for file in files for job in file.jobs),
        revisions=tuple(alternative for file in files for alternative in file.revisions),
        projects=tuple(project for file in files for project in file.projects),
    )


def _paths(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise Misconfigured(
            f"the runbook folder {folder} does not exist",
            stage="plan",
            next_step=NextStep.of("config show"),
        )
    yield from sorted(path for path in folder.iterdir() if path.suffix in {".yaml", ".yml"})


def _read(path: Path) -> RunbookFile:
    origin = Origin(
        f"{path} is not a valid runbook", "plan", NextStep.of("config show"), Misconfigured
    )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise origin.error(str(error)) from error
    if all(line.strip().startswith(("#", "---")) for line in text.splitlines() if line.strip()):
        return RunbookFile()
    return RunbookFile.read(read_yaml(text, origin), origin)
