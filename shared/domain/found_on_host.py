"""What a host says of a step's commands and of a workspace, for whoever repairs them."""

from dataclasses import dataclass

from shared.domain.checkpoint import FoundOnRemote


@dataclass(frozen=True, slots=True)
class CommandOnHost:
    """A command that a host has recorded, by the key of its attempt.

    It has `ended` with the `exit_code`, or its end is not recorded; `processes` names those of it
    that run now, each as "pid(name)".
    """

    key: str
    ended: bool
    exit_code: int | None
    processes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkspaceOnHost:
    """A workspace on its host; `path` is None if there is none.

    It was made from the commit `base`, and holds the files of `tree`. `kept` says whether all of
    that is kept elsewhere, `unkept` names what cannot be. `used` says that a process works in it.
    `remote` is how the branch of the session stands, of the main one.
    """

    path: str | None
    base: str | None = None
    tree: str | None = None
    kept: bool = True
    unkept: tuple[str, ...] = ()
    used: bool = False
    changed: bool = False
    remote: FoundOnRemote | None = None
    git_dir: str = ""
