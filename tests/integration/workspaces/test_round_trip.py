"""Any tree of files comes back from a snapshot as it was."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from stat import S_IXUSR

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.domain.workspace import Why
from tests.integration.workspaces.sources import run_git
from workers.agents.workspaces.workspaces import Workspaces

PASS, ATTEMPT, NEXT = "R1-1-r0-p1", "R1-1-r0-1-p1-t0", "R1-1-r0-1-p1-t1"

Content = bytes | str | None
"""Of a file; a text is where a symbolic link leads, None is an empty folder."""

NAMES = st.text(
    st.one_of(st.sampled_from("ab .-\t\n'\"\\*?[]$`#!:()\r~ж"), st.characters(codec="utf-8")),
    min_size=1,
    max_size=8,
).filter(
    lambda name: (
        "/" not in name
        and "\0" not in name
        and name not in {".", ".."}
        and len(name.encode()) < 200
        # Names that are `.git` on some machine are refused by git, and named: another test.
        and not name.casefold().startswith(("git~", ".git", "\u200c"))
    )
)
CONTENTS: st.SearchStrategy[Content] = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([b"", b"line\r\n", b"no end", b" \n\t\n", b"\0\xff" * 9]),
    st.sampled_from(["readme", "../..", "/nowhere", "sub/ü"]),
    st.none(),
)
TREES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map("/".join),
    st.tuples(CONTENTS, st.booleans()),
    max_size=6,
)


def fill(folder: Path, files: dict[str, tuple[Content, bool]]) -> dict[str, tuple[Content, bool]]:
    """Put the files there, apart from those in the way of others; those that are there now."""
    for path in folder.iterdir():
        if path.name != ".git":
            subprocess.run(["rm", "-rf", str(path)], check=True)
    for name, (content, executable) in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.symlink_to(content)
            elif content is None:
                path.mkdir()
            else:
                path.write_bytes(content)
                path.chmod(0o755 if executable else 0o644)
        except OSError:
            continue
    return dict(_found(folder, folder))


def _found(top: Path, folder: Path) -> Iterator[tuple[str, tuple[Content, bool]]]:
    """What is there, with folders only if they are empty."""
    below = [path for path in folder.iterdir() if path.name != ".git" or folder != top]
    if not below and folder != top:
        yield str(folder.relative_to(top)), (None, False)
    for path in below:
        name = str(path.relative_to(top))
        if path.is_symlink():
            yield name, (str(path.readlink()), False)
        elif path.is_dir():
            yield from _found(top, path)
        else:
            yield name, (path.read_bytes(), bool(path.stat().st_mode & S_IXUSR))


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=TREES, second=TREES)
def test_every_tree_comes_back_as_it_was(
    workspaces: Workspaces,
    first: dict[str, tuple[Content, bool]],
    second: dict[str, tuple[Content, bool]],
) -> None:
    """From one set of files to another and back; what does not come back is named."""
    one = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)
    other = workspaces.prepare(one.base_sha, NEXT)
    kept = []
    for files in (first, second):
        there = fill(Path(one.path), files)
        snapshot = workspaces.snapshot(one, whole=True)
        kept.append((snapshot.tree, there, snapshot.left_out))
        run_git(Path(one.path), "add", "--all")
        assert snapshot.tree == run_git(Path(one.path), "write-tree")
    for tree, there, left_out in (*kept, kept[0]):
        workspaces.restore(other, tree)
        files = {name: held for name, held in there.items() if held[0] is not None}
        assert dict(_found(Path(other.path), Path(other.path))) == files
        empty = [each.path for each in left_out if each.why is Why.EMPTY]
        for name in there.keys() - files.keys():
            assert any(f"{name}/".startswith(found) for found in empty)
        assert {each.why for each in left_out} <= {Why.EMPTY}
