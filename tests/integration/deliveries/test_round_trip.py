"""Any tree comes back from its patch as it was, whatever anybody has configured."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.domain.errors import Rejected
from shared.domain.target import Repository
from tests.integration.deliveries.test_line import Meta
from tests.integration.deliveries.trees import EXECUTABLE, FILE, LINK, Files, Objects
from tests.integration.workspaces.machines import ShOfAMachine
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.changes import Change
from workers.deliveries.line import Line
from workers.deliveries.refusals import BundleMismatch

CONFIGURED = """
[apply]
	whitespace = fix
	ignoreWhitespace = change
[diff]
	external = false
	noprefix = true
	renames = copies
	algorithm = patience
	mnemonicPrefix = true
[core]
	autocrlf = true
	quotePath = false
	attributesFile = /nowhere
[merge]
	conflictStyle = diff3
[commit]
	gpgSign = true
[log]
	showSignature = true
[user]
	name = somebody
"""
ATTRIBUTES = b"""* text=auto eol=crlf ident whitespace=trailing-space,cr-at-eol
*.a binary
*.b filter=lfs diff=lfs merge=lfs
*.c working-tree-encoding=UTF-16 -diff merge=union
"""
NAMES = st.one_of(
    st.sampled_from([b"a.a", b"b.b", b"c.c", b"d", b".gitattributes", b"\\", b"-x", b"e f"]),
    st.binary(min_size=1, max_size=6).filter(
        lambda name: (
            not name.lower().startswith((b".git", b"git~"))
            and not set(name) & {0, ord("/")}
            and name not in {b".", b".."}
            and not name.endswith(b" ")  # see below
        )
    ),
    st.sampled_from(["\t\n'\"", "\u0436\u0446", "a\rb", " a"]).map(str.encode),
)
CONTENTS = st.one_of(
    st.binary(max_size=80),
    st.lists(st.sampled_from([b"one\n", b"two\r\n", b" \t \n", b"\n", b"end", b"-- \n"])).map(
        b"".join
    ),
    st.sampled_from([b"", b"no end", b"$Id$\n", ATTRIBUTES, bytes(range(256)) * 50]),
)
ENTRIES = st.one_of(
    st.tuples(st.sampled_from([FILE, EXECUTABLE]), CONTENTS),
    st.tuples(st.just(LINK), st.sampled_from([b"a.a", b"../..", b"/nowhere", b"\n\xff"])),
)
TREES = st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map(b"/".join), ENTRIES, max_size=7)


def without_clashes(held: Files) -> Files:
    """The files that are not below another one."""
    return {
        name: entry
        for name, entry in held.items()
        if not any(name.startswith(other + b"/") for other in held)
        and not (entry[0] == LINK and name.rpartition(b"/")[2] == b".gitattributes")
    }


def kind(entry: tuple[str, bytes] | None) -> str:
    """What a path is: nothing, a file or a link."""
    return "" if entry is None else entry[0][:3]


def expected(old: Files, new: Files) -> dict[bytes, Change]:
    """What became of each path."""
    found = {}
    for name in old.keys() | new.keys():
        before, after = old.get(name), new.get(name)
        if before is None:
            found[name] = Change.ADDED
        elif after is None:
            found[name] = Change.DELETED
        elif kind(before) != kind(after):
            found[name] = Change.TYPE
        elif before != after:
            found[name] = Change.MODIFIED
    return found


@pytest.fixture
def elsewhere(tmp_path: Path, repository: Repository) -> tuple[Line, Objects]:
    """A line on a machine that has only the base, of an account with a configuration of its own."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(CONFIGURED)
    shell = ShOfAMachine(Path("/bin/sh"), os.environ["PATH"], home)
    root = str(tmp_path / "elsewhere")
    Workspaces(shell, repository, root=root).base("R1")
    return Line(shell, repository, root=root), Objects(tmp_path / "elsewhere/app/ours.git")


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=TREES.map(without_clashes), second=TREES.map(without_clashes))
def test_every_tree_comes_back_from_its_patch(
    line: Line, ours: Objects, elsewhere: tuple[Line, Objects], first: Files, second: Files
) -> None:
    """Published on one host and applied on another one, which has nothing but the base."""
    other, objects = elsewhere
    base, tree = ours.commit(first), ours.tree(second)
    assert objects.commit(first) == base
    found = line.publish(base, tree)
    assert other.publish(base, base).patch == b""
    told = {each.path.encode(errors="surrogateescape"): each.change for each in found.changes}
    assert told == expected(first, second)
    other.apply(Meta(base, tree), found.patch)
    assert objects.has(tree)
    new = {each.new_oid: each.size for each in found.changes if each.has_new_blob}
    contents = line.contents(new, 1_000_000)
    assert {oid: len(content) for oid, content in contents.items()} == new


def test_what_git_cannot_write_as_a_patch_is_not_published(
    line: Line, ours: Objects, base: str
) -> None:
    """An empty file in a folder whose name ends with a space: git does not read its own header."""
    with pytest.raises(BundleMismatch, match="lacks filename information") as refused:
        line.publish(base, ours.tree({b"a /b": (FILE, b"")}))
    assert refused.value.stage == "publish"


ADDED = b"""diff --git a/%(path)b b/%(path)b
new file mode %(mode)b
index 0000000000000000000000000000000000000000..d95f3ad14dee633a758d2e331151e950dd13e4ed
--- /dev/null
+++ b/%(path)b
@@ -0,0 +1 @@
+content
"""


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        *((path, b"100644") for path in (b"../out", b"/etc/x", b".git/config", b".GIT/config")),
        *((path, b"100644") for path in (b"a/../../out", b"git~1/config", b"sub/.git", b"a/./b")),
        (b"sub", b"160000"),
        (b".gitmodules", b"120000"),
    ],
)
def test_a_patch_that_leads_out_of_the_tree_is_refused(
    line: Line, ours: Objects, base: str, path: bytes, mode: bytes
) -> None:
    """At the stage of acceptance, as one that does not make its tree."""
    absent = ours.name_of(f"{base}^{{tree}}")[::-1]
    with pytest.raises(BundleMismatch, match=r"invalid path|adds a submodule") as refused:
        line.apply(Meta(base, absent), ADDED % {b"path": path, b"mode": mode})
    assert refused.value.stage == "accept"
    with pytest.raises(BundleMismatch, match="is not the one of its bundle"):
        line.apply(Meta(base, absent), ADDED % {b"path": b"a/b", b"mode": b"100644"})


def test_a_patch_that_is_not_for_this_base_is_refused(line: Line, ours: Objects, base: str) -> None:
    """One for another base, one that was changed, one that was cut, and one that is not a patch."""
    readme = {b"readme": (FILE, b"".join(b"%d\n" % number for number in range(50)))}
    other, tree = ours.commit(readme), ours.tree({b"readme": (FILE, b"0\n")})
    patch = line.publish(other, tree).patch
    absent = Meta(other, tree[::-1])
    with pytest.raises(
        BundleMismatch, match="cannot be applied to its base: error: patch failed: readme"
    ):
        line.apply(Meta(base, tree), patch)
    for changed in (patch.replace(b"-3\n", b"-x\n"), patch[:-20], b"not a patch"):
        with pytest.raises(BundleMismatch, match="cannot be applied"):
            line.apply(Meta(other, tree), changed)
    with pytest.raises(BundleMismatch, match="is not the one of its bundle"):
        line.apply(absent, patch)
    with pytest.raises(BundleMismatch, match="is not the one of its bundle"):
        line.apply(Meta(other, tree), b"")
    with pytest.raises(Rejected, match="does not have the commit"):
        line.apply(Meta(tree[::-1], tree), patch)
