"""What a line makes of output that did not arrive as it was printed, and of what git prints."""

import hashlib
from datetime import datetime

import pytest

from shared.domain.errors import Defect, Misconfigured, Rejected, ReplanError, Transient
from shared.domain.target import Repository
from tests.fakes.scripted_shell import Answer, ScriptedShell
from workers.deliveries.line import Line
from workers.deliveries.line_words import at_once, require_oids, require_session
from workers.deliveries.reading import count_lines, read_changes
from workers.deliveries.refusals import BundleMismatch
from workers.deliveries.values import DeliveryCommit

BASE, TREE = "a" * 40, "b" * 40
REPOSITORY = Repository("app", "web1", "/srv/app")


def line(patch: bytes, arrived: bytes) -> Line:
    """A line on a host that prints a patch, of which something else arrives."""
    oid = hashlib.sha1(b"blob %d\0" % len(patch) + patch, usedforsecurity=False).hexdigest()
    told = f"oid={oid}\0size={len(patch)}\0\0".encode() + arrived
    return Line(ScriptedShell({}, default=told), REPOSITORY)


def test_a_patch_that_a_secret_was_masked_in_is_refused() -> None:
    """Whether its length has changed or not; the name of the secret is said, and no value."""
    mark = "\u2039secret:DB\u203a".encode()
    for patch in (b"-a\n+x\n", b"-a\n+" + b"x" * len(mark) + b"\n"):
        with pytest.raises(Rejected, match="hold the value of the secret DB"):
            line(patch, b"-a\n+" + mark + b"\n").patch(BASE, TREE)
    assert line(b"+" + mark, b"+" + mark).patch(BASE, TREE) == b"+" + mark


def test_a_patch_that_was_cut_or_changed_is_fetched_another_time() -> None:
    """Nobody can tell what it was."""
    for arrived in (b"-a\n", b"-a\n+y\n", b""):
        with pytest.raises(Transient, match="did not arrive as it was"):
            line(b"-a\n+x\n", arrived).patch(BASE, TREE)


@pytest.mark.parametrize(
    ("code", "family"),
    [
        *(("no_part", Transient), ("unapplied", BundleMismatch), ("other_tree", BundleMismatch)),
        *(("no_commit", Rejected), ("not_on_line", Rejected), ("disk_full", Misconfigured)),
        ("no_git", Misconfigured),
    ],
)
def test_what_a_script_refuses_is_somebodys_to_act_on(code: str, family: type[ReplanError]) -> None:
    """With the stage, and what the script said of it."""
    refused = Answer(3, f"error={code}\0detail=so it is\0")
    with pytest.raises(family) as raised:
        Line(ScriptedShell({}, default=refused), REPOSITORY).keep("T1@app", BASE)
    assert raised.value.next_step is not None
    assert "app" in raised.value.reason


def test_nothing_but_names_gets_to_git() -> None:
    """An option, a range or a ref is not the id of an object."""
    for odd in ("--output=/tmp/x", "HEAD", "a" * 39, "A" * 40, "a" * 40 + "\n", "a" * 41, ""):
        with pytest.raises(Rejected, match="is not a valid git object id"):
            require_oids(BASE, odd)
    for odd in ("", "-x", "a/../b", "a/b", "x.lock", "a..b", "a@{1}", "x.", "a b"):
        with pytest.raises(Rejected, match="is not a valid name of a session"):
            require_session(odd)
    for name in ("T12@app", "R7", "ab.c-d_e"):
        require_session(name)


def test_a_script_is_not_given_more_than_fits() -> None:
    """Everything in its order, and one that is too long by itself alone."""
    sizes = [10, 59_000, 900, 30_000, 70_000, 1]
    assert [list(some) for some in at_once(sizes, lambda size: size)] == [
        [10, 59_000, 900],
        [30_000],
        [70_000],
        [1],
    ]
    assert list(at_once([], len)) == []


def test_lines_are_counted_where_the_patch_has_them() -> None:
    """What looks like a header in a content, and counts of one that are not written."""
    patch = (
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ f()\n a\n"
        b"---- b\n+@@ -1 +1 @@\n++++ c\n"
        b"@@ -9 +10 @@\n-a\n+b\n\\ No newline at end of file\n"
        b"diff --git a/y b/y\nGIT binary patch\nliteral 5\n+cabc\n-def\n"
    )
    assert count_lines(patch) == (3, 2)
    assert count_lines(b"") == (0, 0)


def test_a_name_in_quotes_is_read_as_it_is() -> None:
    """Each escape of git, and bytes that are not UTF-8."""
    about = f":000000 100644 {'0' * 40} {TREE} A\t".encode()
    listed = [rb'"\"\\\a\b\t\n\v\f\r\303\274\377 1"', b"plain name", b":x"]
    found = read_changes(b"".join(about + name + b"\n" for name in listed), b"")
    assert [each.path for each in found] == ['"\\\a\b\t\n\v\f\r\u00fc\udcff 1', "plain name", ":x"]


def test_a_date_without_a_zone_is_our_fault() -> None:
    """It would be another moment on another machine."""
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 - that is the point
    with pytest.raises(Defect):
        Line(ScriptedShell({}), REPOSITORY).merge(
            BASE, [DeliveryCommit("c" * 64, BASE, TREE, naive, "x")]
        )
