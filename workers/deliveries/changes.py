"""What differs between a commit and a tree, one value for each path; pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

NO_MODE: Final = "000000"
"""The mode on the side where a path does not exist."""

FILE: Final = "100644"
EXECUTABLE: Final = "100755"
SYMLINK: Final = "120000"
GITLINK: Final = "160000"


def writable(text: str) -> str:
    r"""A path or target with its surrogates, bytes that are not UTF-8, written as `\xff`."""
    try:
        found = text.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # half of a pair, which no bytes of a path are read as
        return text.encode(errors="backslashreplace").decode()
    return found.decode(errors="backslashreplace")


class Change(StrEnum):
    """What became of a path, as `git diff-tree --no-renames` says it."""

    ADDED = "A"
    DELETED = "D"
    MODIFIED = "M"
    TYPE = "T"  # a file became a symbolic link, a link a submodule, and so on


@dataclass(frozen=True, slots=True)
class FileChange:
    """A path that differs between two trees; a renamed file is one deleted and one added.

    `path` is as git has it, from the root of the tree; bytes that are not UTF-8 are surrogates, as
    `os.fsdecode` reads them. Modes are six octal digits, `NO_MODE` on the side where the path does
    not exist; the object id of that side is empty. `size` and `old_size` are those of the new and
    of the old blob, in bytes: 0 where there is none.
    """

    path: str
    change: Change
    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str
    size: int = 0
    old_size: int = 0

    @property
    def name(self) -> str:
        r"""The path as people, agents and JSON have it: bytes that are not UTF-8 as `\xff`."""
        return writable(self.path)

    @property
    def has_old_blob(self) -> bool:
        """Whether the old side has content: a file or a symbolic link."""
        return self.old_mode not in {NO_MODE, GITLINK}

    @property
    def has_new_blob(self) -> bool:
        """Whether the new side has content: a file or a symbolic link."""
        return self.new_mode not in {NO_MODE, GITLINK}
