"""A target: where a task happens."""

from dataclasses import dataclass
from enum import StrEnum

from shared.domain.host import Host


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository on an enrolled host, where agents work; only its commits count.

    Either `path`, a folder on that host, or `url`, which git there can clone from. Work starts from
    `branch`, None for what the repository has checked out. `setup` is a command that makes a
    workspace ready, within `setup_timeout` seconds; `checks` are commands that must be green in
    every workspace. `runners` lists the agents that may work here, None for any. `copied` holds
    patterns of ignored files that a workspace needs (`.env.test`); no other ignored file gets
    there. `labels` are a person's words.
    """

    name: str
    host: str
    path: str | None = None
    url: str | None = None
    branch: str | None = None
    setup: str | None = None
    setup_timeout: float = 600.0
    checks: tuple[str, ...] = ()
    runners: tuple[str, ...] | None = None
    copied: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What git clones from: the path on its host, or the URL."""
        return self.path or self.url or ""

    def allows(self, runner: str) -> bool:
        """Whether that agent may work here."""
        return self.runners is None or runner in self.runners


class RepositoryFault(StrEnum):
    """Why nobody can work in a repository."""

    NO_GIT = "no_git"
    ABSENT = "absent"
    UNREADABLE = "unreadable"
    NO_REPOSITORY = "no_repository"
    INSIDE = "inside"  # the path is a folder inside a repository
    PARTIAL = "partial"  # a partial clone lacks objects of its own commits
    EMPTY = "empty"  # it has no commit
    NO_BRANCH = "no_branch"
    SUBMODULES = "submodules"
    UNREACHABLE = "unreachable"  # git cannot read what the URL names


class RepositoryNotice(StrEnum):
    """What a person should know about a repository in which one can work all the same."""

    UNCOMMITTED = "uncommitted"  # only commits count
    BARE = "bare"  # it has no files, so no ignored ones to copy
    SHALLOW = "shallow"  # its history ends early
    LFS = "lfs"  # large files stay pointers


@dataclass(frozen=True, slots=True)
class RepositoryReport:
    """What git says about a repository; with a `fault`, nobody can work there.

    `detail` is what the fault is about, in the words of git or the host. `branch` is where work
    starts, None for a commit that is on none; `branches` are some of those that there are.
    `uncommitted` counts the files that differ from the last commit.
    """

    git: str | None = None
    branch: str | None = None
    commit: str | None = None
    branches: tuple[str, ...] = ()
    uncommitted: int = 0
    notices: tuple[RepositoryNotice, ...] = ()
    fault: RepositoryFault | None = None
    detail: str = ""


Target = Host | Repository
