"""Repositories to work on, made with the git of this machine and nobody's configuration."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

ALONE = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "dev",
    "GIT_AUTHOR_EMAIL": "dev@localhost",
    "GIT_COMMITTER_NAME": "dev",
    "GIT_COMMITTER_EMAIL": "dev@localhost",
}


def run_git(folder: Path, *words: str, **environment: str) -> str:
    """What git prints there."""
    found = subprocess.run(
        ["git", *words],
        cwd=folder,
        env=os.environ | ALONE | environment,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    assert found.returncode == 0, f"git {words}: {found.stderr}"
    return found.stdout.strip()


@dataclass(frozen=True, slots=True)
class Source:
    """A repository with a checkout."""

    folder: Path

    @classmethod
    def at(cls, folder: Path, **files: str) -> Self:
        """A new one on the branch main, with one commit if there are files."""
        folder.mkdir(parents=True)
        made = cls(folder)
        made.git("init", "--quiet", "--initial-branch=main")
        if files:
            made.commit(**files)
        return made

    def git(self, *words: str) -> str:
        """Run git there."""
        return run_git(self.folder, *words)

    def write(self, name: str, text: str) -> Path:
        """A file there."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, **files: str) -> str:
        """Commit everything, after writing the files; the commit."""
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=work")
        return self.head

    @property
    def head(self) -> str:
        """Its commit."""
        return self.git("rev-parse", "HEAD")
