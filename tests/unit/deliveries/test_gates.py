"""The gates, rule by rule."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.delivery import Trust
from shared.domain.findings import Effect, Finding, GateRule, NameFault
from shared.domain.target import Repository, TrustRule
from shared.domain.workspace import LeftOut, Why
from tests.fakes.scripted_shell import ScriptedShell
from tests.unit.deliveries.made import LINK, Files, delivery
from workers.deliveries.changes import GITLINK, NO_MODE, Change, FileChange
from workers.deliveries.gates.examine import MOST_NAMED, examine
from workers.deliveries.gates.names import fault_of, fold
from workers.deliveries.gates.values import (
    Claim,
    GateInput,
    GateLimits,
    GatePolicy,
    GateReport,
    folders_to_list,
    needs_links,
    oids_to_read,
)
from workers.deliveries.line import Line
from workers.deliveries.publisher import read_for_gates

ISSUE = "L-000123"
MADE = "print('made')\n"


def rules(report: GateReport) -> list[tuple[str, str]]:
    return [(each.rule.value, each.path) for each in report.findings]


def only(report: GateReport) -> Finding:
    (found,) = report.findings
    return found


def claim(*paths: str, **changed: object) -> Claim:
    value = {
        "schema_version": 1,
        "issue_id": ISSUE,
        "summary": ["It is done."],
        "changed_files": list(paths),
        "how_to_verify": ["make test"],
        "risks": [],
    }
    return Claim(ISSUE, value | changed)


def test_an_ordinary_change_is_accepted_by_checks_alone() -> None:
    before, after = {"a.py": "x = 1\n"}, {"a.py": "x = 2\n", "b.py": MADE}
    report = examine(replace(delivery(before, after), claim=claim("a.py", "b.py")))
    assert report == GateReport()
    assert report.trust is Trust.CHECKS


def test_a_delivery_that_changes_nothing_is_refused() -> None:
    """S2.72."""
    found = only(examine(replace(delivery({"a": "1"}, {"a": "1"}), claim=claim("a"))))
    assert (found.rule, found.effect) == (GateRule.NO_OP, Effect.REFUSE)


def test_a_merge_may_change_nothing() -> None:
    assert examine(delivery({"a": "1"}, {"a": "1"})) == GateReport()


@pytest.mark.parametrize(
    "claimed",
    [
        Claim(ISSUE, None),
        claim("b.py", issue_id="L-000124"),
        claim("a.py"),
        claim("b.py", "a.py"),
        claim("b.py", summary=[]),
        claim("b.py", how_to_verify=[" "]),
        claim("b.py", schema_version=2),
    ],
)
def test_invalid_deliverables_are_refused(claimed: Claim) -> None:
    """S2.46."""
    found = only(
        examine(replace(delivery({"a.py": MADE}, {"a.py": MADE, "b.py": "y = 1"}), claim=claimed))
    )
    assert (found.rule, found.effect) == (GateRule.DELIVERABLES, Effect.REFUSE)
    assert found.detail


def test_a_base_that_the_session_does_not_have_is_refused() -> None:
    """A wrong merge base has reverted thousands of changes in others' merge queues."""
    found = only(examine(replace(delivery({}, {"a.py": MADE}), base_known=False)))
    assert (found.rule, found.effect, found.detail) == (GateRule.BASE, Effect.REFUSE, "b" * 40)


def test_a_file_that_no_tree_holds_is_refused() -> None:
    found = only(
        examine(
            replace(
                delivery({}, {"a.py": MADE}),
                left_out=tuple(LeftOut(f"{why}.bin", why) for why in Why),
            )
        )
    )
    assert (found.rule, found.effect, found.path) == (
        GateRule.LEFT_OUT,
        Effect.REFUSE,
        f"{Why.LARGE_OR_UNREADABLE}.bin",
    )


def test_what_is_too_large_is_refused() -> None:
    limits = GatePolicy(limits=GateLimits(file=10, patch=100, files=1))
    large = replace(delivery({}, {"a.txt": "x" * 11, "b.txt": "x"}, limits), patch=101)
    found = {each.rule: (each.count, each.bound) for each in examine(large).refusals}
    assert found == {
        GateRule.FILE_SIZE: (11, 10),
        GateRule.PATCH_SIZE: (101, 100),
        GateRule.FILE_COUNT: (2, 1),
    }


def test_what_could_not_be_read_is_looked_at_by_a_person() -> None:
    found = only(examine(replace(delivery({}, {"a.py": MADE}), contents={})))
    assert (found.rule, found.effect) == (GateRule.UNREAD, Effect.PERSON)


def test_blobs_are_asked_for_once_and_none_that_is_too_large() -> None:
    made = delivery({"a": "1", "b": "2"}, {"a": "2", "c": "x" * 50})
    listed = oids_to_read(made.changes, GateLimits(file=10))
    assert set(listed) == set(made.contents) - {made.changes[-1].new_oid}
    assert len(listed) == len(set(listed))


def test_no_more_is_read_than_gates_can_take() -> None:
    """Both sides of small files first; a person looks at the rest."""
    before = {"a": "1" * 30, "b": "2" * 40, "gone": "3" * 10}
    made = delivery(before, {"a": "4" * 31, "b": "5" * 41}, GatePolicy(limits=GateLimits(read=83)))
    listed = oids_to_read(made.changes, made.policy.limits)
    contents = {oid: made.contents[oid] for oid in listed}
    assert [len(content) for content in contents.values()] == [10, 30, 31]
    found = examine(replace(made, contents=contents)).findings
    unread = [each.path for each in found if each.rule is GateRule.UNREAD]
    assert unread == ["b"]


@pytest.mark.parametrize("limits", [GateLimits(patch=100), GateLimits(files=1)])
def test_nothing_is_read_of_what_is_too_large(limits: GateLimits) -> None:
    """Its author is told that alone."""
    made = delivery({}, {"a.py": MADE, "b.py": MADE}, GatePolicy(limits=limits))
    asked = replace(made, patch=101, contents={})
    line = Line(ScriptedShell({}, default=None), Repository("app", "web1", "/srv/app"))
    assert read_for_gates(line, asked, "a" * 40) == asked
    assert only(examine(asked)).rule in {GateRule.PATCH_SIZE, GateRule.FILE_COUNT}


def test_a_stray_clone_is_refused() -> None:
    """As others have committed them by accident."""
    link = FileChange("lib", Change.ADDED, NO_MODE, GITLINK, "", "c" * 40)
    found = only(examine(GateInput("b", "t", (link,))))
    assert (found.rule, found.effect, found.path) == (GateRule.SUBMODULE, Effect.REFUSE, "lib")


@pytest.mark.parametrize(
    ("base", "added", "refused"),
    [
        ({}, {"a": LINK + "/etc/passwd"}, ["a"]),
        ({}, {"a": LINK + "../x"}, ["a"]),
        ({}, {"d/a": LINK + "../x"}, []),
        ({}, {"d/a": LINK + "../../x"}, ["d/a"]),
        ({}, {"d/a": LINK + "e/../../f/../../x"}, ["d/a"]),
        ({}, {"a": LINK + "b/../../x", "b": LINK + "c/d"}, []),
        ({"c/d/e": "1"}, {"a": LINK + "b/../../../x", "b": LINK + "c/d"}, ["a"]),
        ({"up": LINK + "/srv"}, {"a": LINK + "up/data"}, ["a"]),
        ({"up": LINK + "/srv"}, {"a": "1"}, []),
        ({"b/c/d": "1", "a": LINK + "b/c/../../x"}, {"b/c": LINK + "../e", "e": LINK + "."}, ["a"]),
        ({"b": LINK + "c/d", "a": LINK + "b/../../x"}, {"b": "1"}, ["a"]),
        ({}, {"a": LINK + "b", "b": LINK + "a"}, []),
        ({}, {"a": LINK + ".git/config"}, ["a"]),
        ({}, {"a": LINK + "x/../.GIT/hooks"}, ["a"]),
        ({}, {"a": LINK + "d//./e"}, []),
    ],
)
def test_links_that_lead_out_are_refused(base: Files, added: Files, refused: list[str]) -> None:
    report = examine(delivery(base, {**base, **added}))
    found = [each.path for each in report.refusals if each.rule is GateRule.LINK_OUT]
    assert found == refused


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        (".git/config", NameFault.GIT),
        ("a/.GIT/hooks/x", NameFault.GIT),
        (".g\u200cit/config", NameFault.GIT),
        ("GIT~1/config", NameFault.GIT),
        (".git./config", NameFault.GIT),
        (".git::$INDEX_ALLOCATION/config", NameFault.GIT),
        (".gitignore", None),
        ("git", None),
        ("a\nb", NameFault.CHARACTER),
        ("a\\b", NameFault.CHARACTER),
        ("a:b", NameFault.CHARACTER),
        ("dir./a", NameFault.ENDING),
        ("dir /a", NameFault.ENDING),
        ("con", NameFault.RESERVED),
        ("src/Aux.py", NameFault.RESERVED),
        ("console.py", None),
        ("x" * 256, NameFault.LENGTH),
        ("ж" * 128, NameFault.LENGTH),
        ("ж" * 127, None),
        ("a\udcff", NameFault.ENCODING),
    ],
)
def test_names_that_cannot_be_held_everywhere_are_refused(
    path: str, fault: NameFault | None
) -> None:
    report = examine(delivery({}, {path: "1"}))
    assert [each.detail for each in report.refusals] == ([] if fault is None else [fault])


def test_a_name_that_was_there_before_may_change() -> None:
    assert examine(delivery({"a:b": "1"}, {"a:b": "2"})) == GateReport()


@pytest.mark.parametrize("after", [{"caf\udce9": "2"}, {}])
def test_a_name_of_the_base_that_is_not_utf8_can_be_delivered(after: Files) -> None:
    made = delivery({"caf\udce9": "1"}, after)
    assert examine(replace(made, claim=claim(r"caf\xe9"))) == GateReport()


def test_whatever_the_name_is_a_finding_can_be_written() -> None:
    made = delivery({}, {"a\udcff.lock": LINK + "/\udcfe"}, FORBIDDEN)
    for each in examine(made).findings:
        assert each.path.encode() == rb"a\xff.lock"
        assert each.detail.encode()


@pytest.mark.parametrize(
    ("base", "tree", "found"),
    [
        (["README"], ["README", "Readme"], {("Readme", "README")}),
        (["src/a"], ["src/a", "Src/b"], {("Src", "src")}),
        (["README"], ["Readme"], set()),
        (["caf\u00e9"], ["caf\u00e9", "cafe\u0301"], {("cafe\u0301", "caf\u00e9")}),
        ([], ["a", "A"], {("A", "a"), ("a", "A")}),
        (["src/a"], ["src/a", "src/b"], set()),
    ],
)
def test_names_that_are_one_elsewhere_are_refused(
    base: list[str], tree: list[str], found: set[tuple[str, str]]
) -> None:
    report = examine(delivery(dict.fromkeys(base, "1"), dict.fromkeys(tree, "1")))
    told = {(each.path, each.detail) for each in report.refusals}
    assert all(each.rule is GateRule.SAME_NAME for each in report.refusals)
    assert told <= found
    assert bool(told) is bool(found)


def test_what_stands_beside_a_new_path_is_listed_folder_by_folder() -> None:
    made = delivery({"a/x": "1", "d/e": "1"}, {"a/x": "2", "a/b/y": "1", "z": LINK + "a"})
    assert folders_to_list(made.changes) == ("", "a", "a/b")
    assert needs_links(made.changes)
    assert needs_links(delivery({"z": LINK + "a"}, {}).changes)
    assert not needs_links(delivery({"z": "1"}, {"z": "2"}).changes)


def test_a_folder_is_told_apart_as_a_name() -> None:
    beside = replace(delivery({}, {"Src/b": "1"}), paths=("src", "Src", "Src/b"))
    found = only(examine(beside))
    assert (found.path, found.detail) == ("Src", "src")


@given(st.text(), st.text())
def test_names_are_one_exactly_if_they_fold_alike(one: str, other: str) -> None:
    paths = [path for path in {one, other} if path and fault_of(path) is None and "/" not in path]
    report = examine(delivery({}, dict.fromkeys(paths, "1")))
    same = any(each.rule is GateRule.SAME_NAME for each in report.findings)
    assert same is (len(paths) == 2 and fold(one) == fold(other))


FORBIDDEN = GatePolicy(forbidden_paths=("secrets/", "*.lock", "!poetry.lock"))


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("secrets/a", "secrets/"),
        ("app/secrets/a", "secrets/"),
        ("secrets", "secrets/"),
        ("yarn.lock", "*.lock"),
        ("poetry.lock", None),
        ("a.py", None),
    ],
)
def test_forbidden_paths_are_refused(path: str, pattern: str | None) -> None:
    found = examine(delivery({}, {path: MADE}, FORBIDDEN)).refusals
    assert [each.detail for each in found] == ([] if pattern is None else [pattern])


def test_a_forbidden_path_cannot_be_deleted_or_replaced_either() -> None:
    before = {"secrets/a": "1"}
    for after in ({}, {"secrets": LINK + "public"}):
        found = examine(delivery(before, after, FORBIDDEN)).refusals
        assert {each.rule for each in found} == {GateRule.FORBIDDEN}


def test_rules_inside_a_delivery_count_for_nothing() -> None:
    tree = {"secrets/a": MADE, ".gitignore": "!secrets/\n"}
    assert examine(delivery({}, tree, FORBIDDEN)).refusals


TRUST = GatePolicy(
    trust=(
        TrustRule("*.sql", Trust.REVIEW),
        TrustRule("migrations/", Trust.PERSON),
        TrustRule("docs/", Trust.CHECKS),
    )
)


@pytest.mark.parametrize(
    ("paths", "trust"),
    [
        (["a.py"], Trust.CHECKS),
        (["docs/a.md"], Trust.CHECKS),
        (["a.py", "b.sql"], Trust.REVIEW),
        (["migrations/b.sql"], Trust.PERSON),
        (["docs/b.sql"], Trust.REVIEW),
        (["b.sql", "migrations/a"], Trust.PERSON),
    ],
)
def test_the_strictest_rule_of_trust_decides(paths: list[str], trust: Trust) -> None:
    report = examine(delivery({}, dict.fromkeys(paths, MADE), TRUST))
    assert (report.trust, report.refusals) == (trust, ())


@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yml", "AGENTS.md", ".gitattributes", ".husky/pre-commit"]
)
def test_files_that_steer_need_a_person(path: str) -> None:
    report = examine(delivery({path: "1"}, {}))
    assert (only(report).rule, report.trust) == (GateRule.STEERING, Trust.PERSON)


CHECKS = GatePolicy(checks=("make test && ./ci/check.sh", "npm test"))


def test_a_silent_revert_is_refused() -> None:
    """As stale trees have done it, with green checks."""
    stale = replace(delivery({"a.py": "new"}, {"a.py": "old"}), reverted=(("a.py", "c" * 40),))
    found = only(examine(stale))
    assert (found.rule, found.effect, found.detail) == (GateRule.REVERTED, Effect.REFUSE, "c" * 40)


def test_a_revert_where_nobody_worked_meanwhile_waits_for_a_person() -> None:
    """No tree is stale then: the author meant it."""
    made = delivery({"a.py": "new"}, {"a.py": "old"})
    found = only(examine(replace(made, reverted=(("a.py", "c" * 40),), from_head=True)))
    assert (found.rule, found.effect) == (GateRule.REVERTED, Effect.PERSON)


def test_a_file_that_is_empty_again_says_nothing() -> None:
    emptied = replace(delivery({"a.py": "x = 1"}, {"a.py": ""}), reverted=(("a.py", "c" * 40),))
    assert examine(emptied) == GateReport()


def test_many_findings_of_one_rule_are_counted() -> None:
    report = examine(delivery({}, {f"{n}.lock": MADE for n in range(100)}, FORBIDDEN))
    assert len(report.findings) == MOST_NAMED
    assert [each.more for each in report.findings][-2:] == [0, 100 - MOST_NAMED]


@given(
    st.dictionaries(st.text(min_size=1), st.text()),
    st.dictionaries(st.text(min_size=1), st.one_of(st.text(), st.text().map(LINK.__add__))),
)
def test_whatever_a_delivery_holds_the_report_is_one(base: Files, tree: Files) -> None:
    made = delivery(base, tree, TRUST)
    report = examine(made)
    assert report == examine(made)
    effects = [each.effect for each in report.findings]
    assert effects == sorted(effects, key=[Effect.REFUSE, Effect.PERSON, Effect.REVIEW].index)
