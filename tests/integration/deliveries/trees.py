"""Trees and commits in a git directory, of any names, modes and contents."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.integration.workspaces.sources import ALONE

Files = dict[bytes, tuple[str, bytes]]
"""Modes and contents by their paths; that of a symbolic link is where it leads."""

FILE, EXECUTABLE, LINK = "100644", "100755", "120000"


def files(**contents: str) -> dict[bytes, tuple[str, bytes]]:
    """Plain files of text."""
    return {name.encode(): (FILE, text.encode()) for name, text in contents.items()}


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of a git directory."""

    folder: Path

    def git(self, *words: str, given: bytes = b"") -> bytes:
        """What git prints there."""
        found = subprocess.run(
            ["git", "--git-dir", str(self.folder), *words],
            env=os.environ | ALONE,
            input=given,
            capture_output=True,
            check=False,
        )
        assert found.returncode == 0, f"git {words}: {found.stderr!r}"
        return found.stdout

    def tree(self, held: Files) -> str:
        """The tree with just these files."""
        return self.name_of(self.commit(held) + "^{tree}")

    def commit(self, held: Files, *parents: str) -> str:
        """A commit with just these files, on no ref that anything else uses."""
        stream = [b"commit refs/tests/made\ncommitter dev <dev@localhost> 1 +0000\ndata 0\n"]
        for word, parent in zip((b"from", *[b"merge"] * len(parents)), parents, strict=False):
            stream.append(b"%s %s\n" % (word, parent.encode()))
        stream.append(b"deleteall\n")
        for path, (mode, content) in held.items():
            quoted = "".join(f"\\{byte:03o}" for byte in path).encode()
            stream.append(b'M %s inline "%s"\n' % (mode.encode(), quoted))
            stream.append(b"data %d\n%s\n" % (len(content), content))
        self.git("fast-import", "--quiet", "--force", "--date-format=raw", given=b"".join(stream))
        return self.name_of("refs/tests/made")

    def name_of(self, words: str) -> str:
        """The object of that name."""
        return self.git("rev-parse", "--verify", words).decode().strip()

    def has(self, oid: str) -> bool:
        """Whether the object is there."""
        words = ["git", "--git-dir", str(self.folder), "cat-file", "-e", oid]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def read(self, tree: str, path: str) -> bytes:
        """A file of a tree."""
        return self.git("cat-file", "blob", f"{tree}:{path}")
