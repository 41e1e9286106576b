"""A target: where a task happens."""

import re
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.agent import STARTABLE
from shared.domain.containment import AgentContainment
from shared.domain.delivery import Trust
from shared.domain.host import Host

_PLAIN = re.compile(r"[^;&|#(){}<>`$\\\n]+")
"""A command of words alone."""


class ForgeKind(StrEnum):
    """The forges where a request to merge can be opened."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"


@dataclass(frozen=True, slots=True)
class Forge:
    """Where a request to merge is opened: a `project` (`owner/name`) of a forge.

    `api` is the address of its HTTP interface, `token` names the secret with which it is asked,
    `into` is the branch that the request is to be merged into.
    """

    kind: ForgeKind
    api: str
    project: str
    into: str
    token: str


@dataclass(frozen=True, slots=True)
class TrustRule:
    """Who may accept a change of the files that a pattern (as in `.gitignore`) names."""

    pattern: str
    trust: Trust


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository on an enrolled host, where agents work; only its commits count.

    Either `path`, a folder on that host, or `url`, which git there can clone from. Work starts from
    `branch`, None for what the repository has checked out. `setup` is a command that makes a
    workspace ready, within `setup_timeout` seconds; `checks` are commands that must be green in
    every workspace. `runners` lists the agents that may work here, None for any. `copied` holds
    patterns of ignored files that a workspace needs (`.env.test`); no other ignored file gets
    there. `labels` are a person's words.

    `trust` says who may accept a delivery, by the files that it changes; what no rule is about is
    accepted by checks alone. No delivery may change `forbidden_paths`. `reviewers` are the agents
    that review, in the order of preference. What is accepted is published to `remote`, a path or a
    URL, None for the source, and as a request to merge where a `forge` is named.
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
    trust: tuple[TrustRule, ...] = ()
    forbidden_paths: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    remote: str | None = None
    forge: Forge | None = None

    @property
    def source(self) -> str:
        """What git clones from: the path on its host, or the URL."""
        return self.path or self.url or ""

    @property
    def check(self) -> str | None:
        """All its checks as one command, which is green if each of them is; None without any."""
        if len(self.checks) == 1:
            return self.checks[0]
        return " && ".join(map(_as_one, self.checks)) or None

    @property
    def usual_runner(self) -> str | None:
        """The agent that works where nobody names one; None if it must be named."""
        return next(iter(self.startable), None)

    @property
    def startable(self) -> tuple[str, ...]:
        """The agents that may work here and are started by their name alone, in its order."""
        listed = STARTABLE if self.runners is None else self.runners
        return tuple(name for name in listed if name in STARTABLE)

    def allows(self, runner: str) -> bool:
        """Whether that agent may work here."""
        return self.runners is None or runner in self.runners


def _as_one(check: str) -> str:
    """The command in a form that `&&` binds as a whole."""
    return check.strip() if _PLAIN.fullmatch(check) else f"{{ {check.strip()}\n}}"


class RepositoryFault(StrEnum):
    """Why nobody can work in a repository."""

    NO_GIT = "no_git"
    OLD_GIT = "old_git"
    NO_PLACE = "no_place"  # its host has no folder for workspaces that the account may write to
    ABSENT = "absent"
    UNREADABLE = "unreadable"
    NO_REPOSITORY = "no_repository"
    INSIDE = "inside"  # the path is a folder inside a repository
    PARTIAL = "partial"  # a partial clone lacks objects of its own commits
    EMPTY = "empty"  # it has no commit
    UNBORN_BRANCH = "unborn_branch"  # the branch that it has checked out has no commit
    NO_BRANCH = "no_branch"
    NOT_A_COMMIT = "not_a_commit"
    SUBMODULES = "submodules"
    UNREACHABLE = "unreachable"  # git cannot read what the URL names
    NO_REMOTE = "no_remote"  # git cannot read what accepted work is published to
    GIT = "git"


class RepositoryNotice(StrEnum):
    """What a person should know about a repository in which one can work all the same."""

    UNCOMMITTED = "uncommitted"  # only commits count
    BARE = "bare"  # it has no files, so no ignored ones to copy
    SHALLOW = "shallow"  # its history ends early
    LFS = "lfs"  # large files stay pointers: git-lfs does not run
    LINKS_OUT = "links_out"  # symbolic links that lead out of the tree


@dataclass(frozen=True, slots=True)
class RunnerProgram:
    """The program of a runner on a host: where it is, and what it says of its version."""

    runner: str
    program: str
    path: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class RepositoryReport:
    """What git says about a repository; with a `fault`, nobody can work there.

    `detail` is what the fault is about, in the words of git or the host. `branch` is where work
    starts, None for a commit that is on none; `branches` are some of those that there are.
    `uncommitted` counts the files that differ from the last commit, `links_out` are symbolic links
    that lead out of the tree. `programs` are those of runners that the host has, `agents` is how
    they run there, None where nobody asked.
    """

    git: str | None = None
    branch: str | None = None
    commit: str | None = None
    branches: tuple[str, ...] = ()
    uncommitted: int = 0
    notices: tuple[RepositoryNotice, ...] = ()
    links_out: tuple[str, ...] = ()
    fault: RepositoryFault | None = None
    detail: str = ""
    programs: tuple[RunnerProgram, ...] = ()
    agents: AgentContainment | None = None


Target = Host | Repository
