"""What the line of a session makes of deliveries: patches, commits, merges and conflicts."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shared.domain.attempt import CommandResult
from shared.domain.errors import Rejected
from shared.domain.target import Repository
from tests.fakes.scripted_shell import ScriptedShell
from tests.integration.deliveries.trees import FILE, LINK, Objects, files
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.changes import NO_MODE, Change, FileChange
from workers.deliveries.line import Line
from workers.deliveries.refusals import BundleMismatch
from workers.deliveries.values import Accepted, Conflict, DeliveryCommit, Merged
from workers.shells.ports import Call, Shell

AT = datetime(2026, 11, 23, 1, 2, 3, tzinfo=UTC)
HELLO = files(readme="hello\n", code="print(1)\n")


@dataclass(frozen=True)
class Meta:
    """What a bundle says of its patch."""

    base_sha: str
    result_tree: str


def delivery(number: int, base: str, tree: str) -> DeliveryCommit:
    """A delivery with a made-up digest."""
    return DeliveryCommit(f"{number:064x}", base, tree, AT, f"Do the task\n{number}\x1b[0m")


def test_a_tree_is_published_with_what_it_changes(line: Line, ours: Objects, base: str) -> None:
    """Each change with its modes, objects and size, the lines, and the patch that makes it."""
    tree = ours.tree(files(readme="hello\nyou\n", new="\0\0"))
    found = line.publish(base, tree)
    oids = {name: ours.name_of(name) for name in (f"{base}:code", f"{base}:readme")}
    assert found.changes == (
        FileChange("code", Change.DELETED, FILE, NO_MODE, oids[f"{base}:code"], "", 0, 9),
        FileChange("new", Change.ADDED, NO_MODE, FILE, "", ours.name_of(f"{tree}:new"), 2),
        FileChange(
            *("readme", Change.MODIFIED, FILE, FILE),
            *(oids[f"{base}:readme"], ours.name_of(f"{tree}:readme"), 10, 6),
        ),
    )
    assert (found.added, found.deleted) == (1, 1)
    assert found.patch.startswith(b"diff --git a/code b/code\ndeleted file mode 100644\n")
    assert found.changes == line.changes(base, tree)
    assert found.patch == line.patch(base, tree)
    blobs = line.contents([each.new_oid for each in found.changes if each.has_new_blob], 5)
    assert blobs == {ours.name_of(f"{tree}:new"): b"\0\0"}


def test_what_gates_ask_for_comes_along(
    repository: Repository, local_shell: Shell, place: Path, ours: Objects, base: str
) -> None:
    """Contents and history: with what is published and with what is merged, in one call each."""
    old = ours.commit(HELLO | files(readme="old\n"), base)
    new = ours.commit(HELLO | files(readme="new\n"), old)
    tree = ours.tree(HELLO | files(readme="old\n", code="print(2)\n"))
    shell = CountingShell(local_shell)
    line = Line(shell, repository, root=str(place))
    published = line.publish(new, tree)
    merged = line.merge(new, [delivery(1, new, tree)])
    assert isinstance(merged, Merged)
    assert merged.changes == published.changes
    oids = [oid for each in merged.changes for oid in (each.old_oid, each.new_oid)]
    contents = line.contents(oids, 100)
    assert set(contents.values()) == {b"old\n", b"new\n", b"print(1)\n", b"print(2)\n"}
    assert line.reverted(new, merged.changes) == (("readme", new),)
    assert shell.count == 2
    assert line.contents(oids, 4).keys() == {oids[2], oids[3]}


class CountingShell(ScriptedShell):
    """Another shell, and what it was given."""

    def __init__(self, shell: Shell) -> None:
        super().__init__({})
        self._shell, self.texts = shell, list[str]()

    @property
    def count(self) -> int:
        """How often it was called."""
        return len(self.texts)

    def run(self, call: Call, **_: object) -> CommandResult:
        """As the other shell."""
        self.texts.append(call.command)
        return self._shell.run(call)


def test_what_does_not_fit_into_one_answer_comes_in_parts(
    line: Line, ours: Objects, base: str
) -> None:
    """A patch, and the contents of blobs; a limit refuses before anything is brought."""
    content = bytes(range(256)) * 8_000
    tree = ours.tree({b"large": (FILE, content), b"text": (FILE, b"line\n" * 300_000)})
    found = line.publish(base, tree)
    assert len(found.patch) > 1_000_000
    assert line.contents([each.new_oid for each in found.changes if each.size], 10**7).keys() == {
        each.new_oid for each in found.changes if each.size
    }
    with pytest.raises(Rejected, match="no more than 100 are allowed"):
        line.patch(base, tree, limit=100)


def test_a_host_makes_once_what_it_gives_in_pages(
    repository: Repository, local_shell: Shell, place: Path, ours: Objects
) -> None:
    """However large it is, and nothing is left of it afterwards."""
    content = bytes(range(256)) * 8_000
    tree = ours.tree(HELLO | {b"large": (FILE, content), b"small": (FILE, b"1")})
    oids = {
        ours.name_of(f"{tree}:{name}"): part for name, part in (("large", content), ("small", b"1"))
    }
    shell = CountingShell(local_shell)
    line = Line(shell, repository, root=str(place))
    assert line.contents(oids, 10**7) == oids
    called = [text.splitlines()[-1].split()[0] for text in shell.texts]
    assert called == ["contents", "page", "page"]
    assert list((place / "app/work").iterdir()) == []


def test_of_a_patch_that_is_too_long_only_the_size_is_told(
    line: Line, ours: Objects, base: str
) -> None:
    """With what it changes, so that whoever made it is told."""
    tree = ours.tree(HELLO | files(text="line\n" * 100))
    whole = line.publish(base, tree)
    size = len(whole.patch)
    assert line.publish(base, tree, limit=size) == whole
    assert line.publish(base, tree, limit=size - 1) == replace(whole, added=0, patch=b"")


def test_a_delivery_on_the_head_is_the_next_commit(
    line: Line, ours: Objects, base: str, workspaces: Workspaces
) -> None:
    """The commit is made of the delivery alone, and can be the base of a workspace."""
    tree = ours.tree(HELLO | files(new="1\n"))
    merged = line.merge(base, [delivery(1, base, tree)], session="T12@repo")
    assert isinstance(merged, Merged)
    assert merged.tree == tree
    assert [each.path for each in merged.changes] == ["new"]
    told = ours.git("cat-file", "commit", merged.commit).decode().split("\n\n", 1)
    person = f"replan <replan@localhost> {int(AT.timestamp())} +0000"
    assert told[0].splitlines() == [
        f"tree {tree}",
        f"parent {base}",
        f"author {person}",
        f"committer {person}",
    ]
    assert told[1] == f"Do the task 1 [0m\n\nDelivery: sha256:{1:064x}\n"
    assert ours.name_of(f"refs/replan/deliveries/{1:064x}") == merged.commit
    assert ours.name_of("refs/replan/sessions/T12@repo") == base
    workspace = workspaces.prepare(merged.commit, "R1-1-r0-1-p1-t0")
    assert workspace.begun == tree


def test_deliveries_are_merged_one_behind_the_other(line: Line, ours: Objects, base: str) -> None:
    """A merge has two parents, and the same deliveries on the same head the same ids."""
    trees = [ours.tree(HELLO | files(**{f"new{number}": "x\n"})) for number in range(3)]
    deliveries = [delivery(number, base, tree) for number, tree in enumerate(trees)]
    merged = line.merge(base, deliveries)
    assert isinstance(merged, Merged)
    names = ours.git("ls-tree", "--name-only", merged.tree).decode().split()
    assert names == ["code", "new0", "new1", "new2", "readme"]
    assert [each.path for each in merged.changes] == ["new2"]
    parents = ours.git("rev-list", "--parents", "-1", merged.commit).decode().split()[1:]
    assert parents == [
        merged.line[1].commit,
        ours.name_of(f"refs/replan/deliveries/{2:064x}"),
    ]
    assert line.merge(base, deliveries) == merged
    later = line.merge(merged.line[0].commit, deliveries[1:])
    assert isinstance(later, Merged)
    assert later.commit == merged.commit
    entry = Accepted(f"{0:064x}", merged.commit, merged.tree)
    there = line.merge(merged.commit, deliveries[:1])
    assert there == Merged(merged.commit, merged.tree, (entry,), ())


def test_a_conflict_names_its_files_and_keeps_them_with_markers(
    line: Line, ours: Objects, base: str, workspaces: Workspaces
) -> None:
    """The deliveries before it are told too; its tree can be worked on."""
    first = delivery(1, base, ours.tree(HELLO | files(readme="hello, all\n")))
    second = delivery(2, base, ours.tree(HELLO | files(code="print(2)\n")))
    third = delivery(3, base, ours.tree(HELLO | files(readme="hi\n", **{"a b\n": "x"})))
    found = line.merge(base, [first, second, third])
    assert isinstance(found, Conflict)
    assert (found.delivery, found.paths) == (third.delivery, ("readme",))
    assert [each.delivery for each in found.line] == [first.delivery, second.delivery]
    text = ours.read(found.tree, "readme").decode()
    assert text == "<<<<<<< session\nhello, all\n=======\nhi\n>>>>>>> delivery\n"
    head = found.line[-1].commit
    workspace = workspaces.prepare(head, "R1-1-r0-1-p2-t0", tree=found.tree)
    assert workspace.begun == found.tree


def test_a_folder_may_look_like_magic(line: Line, ours: Objects, base: str) -> None:
    """Its name means itself for git, where it is published, listed and merged."""
    tree = ours.tree(HELLO | {b":(foo)/new": (FILE, b"1"), b":!*/new": (FILE, b"2")})
    folders = (":(foo)", ":!*")
    beside = {":(foo)/new", ":!*/new"}
    assert set(line.entries(tree, folders)) == beside
    line.publish(base, tree)
    assert set(line.entries(tree, folders)) == beside
    merged = line.merge(base, [delivery(1, base, tree)])
    assert isinstance(merged, Merged)
    assert set(line.entries(merged.tree, folders)) == beside


def test_the_base_of_a_delivery_must_be_on_the_line(line: Line, ours: Objects, base: str) -> None:
    """Or what was never accepted would come with it."""
    other = ours.commit(files(code="never accepted\n"), base)
    tree = ours.tree(files(code="never accepted\n", new="x"))
    with pytest.raises(Rejected, match="is not on the line of its session"):
        line.merge(base, [delivery(1, other, tree)])


def test_a_patch_makes_its_tree_where_it_is_not(line: Line, ours: Objects, base: str) -> None:
    """In as many parts as it takes; what is there already is only compared."""
    changed = HELLO | {b"large": (FILE, bytes(range(256)) * 1_000)}
    tree = ours.tree(changed)
    patch = line.publish(base, tree).patch
    line.apply(Meta(base, tree), patch)
    ours.git("update-ref", "-d", "refs/tests/made")
    ours.git("prune", "--expire=now")
    assert not ours.has(tree)
    line.apply(Meta(base, tree), patch)
    assert ours.has(tree)
    with pytest.raises(BundleMismatch, match="which is not the one of its bundle"):
        line.apply(Meta(base, tree), patch.replace(b"GIT binary", b"GIT binary", 1)[:0])


def test_a_change_that_brings_an_old_content_back_is_found(
    line: Line, ours: Objects, base: str
) -> None:
    """Named with the commit that it undoes; a content that is still there is not."""
    odd = 'b \n"\u0436\udcff'
    raw = odd.encode(errors="surrogateescape")
    first = ours.commit(HELLO | {raw: (FILE, b"1\n")}, base)
    second = ours.commit(HELLO | {raw: (FILE, b"2\n")} | files(code="print(2)\n"), first)
    third = ours.commit(HELLO | {raw: (FILE, b"3\n")} | files(code="print(1)\n"), second)
    tree = ours.tree(HELLO | {raw: (FILE, b"1\n")} | files(code="print(1)\n", readme="new\n"))
    assert line.reverted(third, line.changes(second, tree)) == ((odd, second),)
    assert line.reverted(third, line.changes(second, tree), depth=1) == ()


def test_a_session_never_goes_back(line: Line, ours: Objects, base: str) -> None:
    """A late call with an older head leaves the newer one."""
    later = ours.commit(files(code="later\n"), base)
    line.keep("T1@app", later)
    line.keep("T1@app", base)
    assert ours.name_of("refs/replan/sessions/T1@app") == later
    with pytest.raises(Rejected, match="does not have the commit"):
        line.keep("T1@app", "0" * 40)
    with pytest.raises(Rejected, match="is not a valid git object id"):
        line.keep("T1@app", "--help")


def test_what_stands_beside_a_path_and_the_links_of_a_tree(
    line: Line, ours: Objects, base: str
) -> None:
    """Whatever their names are; for a folder that is not there, nothing."""
    odd = b"a\n\xff 'b'"
    tree = ours.tree(
        {
            b"d/e/f": (FILE, b"1"),
            odd + b"/x": (FILE, b"1"),
            b"d/" + odd: (LINK, b"../e\n"),
            b"z": (LINK, b"d"),
        }
    )
    name = odd.decode(errors="surrogateescape")
    assert set(line.entries(tree, ["", "d", name, "none"])) == {
        *("d", name, "z", "d/e", f"d/{name}", f"{name}/x"),
    }
    assert line.entries(tree, []) == ()
    assert line.links(tree) == {f"d/{name}": "../e\n", "z": "d"}
    assert line.links(base) == {}


def test_what_stands_beside_new_files_is_brought_along(
    line: Line, ours: Objects, base: str
) -> None:
    """Folder by folder, for a delivery and for its merge; odd names are asked for."""
    odd = b"\xd1\x8f\n"
    tree = ours.tree(
        {
            b"readme": (FILE, b"hello\n"),
            b"code": (FILE, b"print(1)\n"),
            b"d/e/new": (FILE, b"1"),
            odd + b"/new": (FILE, b"1"),
        }
    )
    name = odd.decode()
    folders = ("", "d", "d/e", name)
    beside = {"readme", "code", "d", name, "d/e", "d/e/new", f"{name}/new"}
    asked = line.entries(tree, folders)
    line.publish(base, tree)
    brought = line.entries(tree, folders)
    assert set(brought) == set(asked) == beside
    assert len(brought) == len(asked) == len(beside)
    merged = line.merge(base, [delivery(1, base, tree)])
    assert isinstance(merged, Merged)
    assert set(line.entries(merged.tree, folders)) == beside
