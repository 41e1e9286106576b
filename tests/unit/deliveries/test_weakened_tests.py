"""Tests that a delivery deletes or weakens, in each language that is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.delivery import Trust
from shared.domain.findings import GateRule, Weakening
from tests.unit.deliveries.made import LINK, Files, delivery
from workers.deliveries.gates.examine import examine
from workers.deliveries.gates.suites import is_test
from workers.deliveries.gates.text_suites import reader_of

PYTHON = """\
import pytest

def test_adds():
    assert add(1, 2) == 3
    assert add(0, 0) == 0

class TestMore:
    def test_fails(self):
        with pytest.raises(ValueError):
            add("x")
"""
JAVASCRIPT = """\
describe("add", () => {
  it("adds", () => {
    expect(add(1, 2)).toBe(3);
    expect(add(0, 0)).toBe(0);
  });
  test('fails', async () => { assert.throws(() => add("x")); });
});
"""
GO = """\
package add

func TestAdds(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Errorf("no")
	}
	require.Equal(t, 0, Add(0, 0))
}

func TestFails(t *testing.T) { t.Fatal("x") }
"""
RUST = """\
fn add(a: i32, b: i32) -> i32 { a + b }

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
        assert!(add(0, 0) == 0);
    }

    #[tokio::test]
    #[should_panic]
    async fn fails() { add_text("x"); }
}
"""
JAVA = """\
class AddTest {
  @Test
  void adds() {
    assertEquals(3, add(1, 2));
    assertThat(add(0, 0)).isZero();
  }
  @ParameterizedTest
  @ValueSource(ints = {1})
  public void fails(int x) { assertThrows(Exception.class, () -> add("x")); }
}
"""
RUBY = """\
describe "add" do
  it "adds" do
    expect(add(1, 2)).to eq 3
    expect(add(0, 0)).to eq 0
  end
  it 'fails' do
    expect { add("x") }.to raise_error
  end
end
"""
BATS = """\
@test "adds" {
  run add 1 2
  [ "$output" = 3 ]
}
@test "fails" {
  run add x
  [ "$status" -ne 0 ]
}
"""
FILES = {
    "tests/test_add.py": PYTHON,
    "src/add.test.ts": JAVASCRIPT,
    "add_test.go": GO,
    "src/lib.rs": RUST,
    "src/test/java/AddTest.java": JAVA,
    "spec/add_spec.rb": RUBY,
    "test/add.bats": BATS,
}


def found(before: Files, after: Files) -> list[tuple[str, str, str]]:
    report = examine(delivery(before, after))
    weak = {GateRule.TEST_DELETED, GateRule.TEST_WEAKENED}
    listed = [each for each in report.findings if each.rule in weak]
    assert report.trust is (Trust.PERSON if listed else Trust.CHECKS)
    assert not report.refusals
    return [(each.path, each.rule.value, each.detail) for each in listed]


def became(path: str, before: str, after: str) -> list[str]:
    return [detail for _, _, detail in found({path: before}, {path: after})]


@pytest.mark.parametrize("path", FILES)
def test_every_language_is_read(path: str) -> None:
    read = reader_of(path)
    assert read is not None
    suite = read(FILES[path])
    assert suite is not None
    names = [name.strip("\"'").rpartition(".")[2] for name in suite.cases]
    ours = {"describe", "add"}
    assert len([name for name in names if name not in ours]) == 2, names
    assert suite.assertions >= 3
    assert suite.skips == suite.shutouts == 0


@pytest.mark.parametrize("path", FILES)
def test_a_deleted_test_file_needs_a_person(path: str) -> None:
    assert found({path: FILES[path]}, {}) == [(path, "test_deleted", Weakening.TESTS)]


@pytest.mark.parametrize("path", FILES)
def test_a_test_file_may_grow_and_move(path: str) -> None:
    text = FILES[path]
    folder, _, name = path.rpartition("/")
    moved = f"{folder}/more/{name}" if folder else f"more/{name}"
    assert found({path: text}, {moved: text}) == []
    assert found({path: text}, {path: f"{text}\n"}) == []
    assert found({}, {path: text}) == []


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("after", ["", LINK + "elsewhere", b"\0\0"])
def test_a_test_file_that_is_emptied_needs_a_person(path: str, after: str | bytes) -> None:
    ((_, rule, _),) = found({path: FILES[path]}, {path: after, "elsewhere": "x"})
    assert rule in {GateRule.TEST_DELETED, GateRule.TEST_WEAKENED}


PY, TS, GOLANG, RS, JVM, RB, SH = FILES
TESTS, ASSERTIONS, SKIPPED, BROKEN = Weakening


@pytest.mark.parametrize(
    ("path", "old", "new", "how"),
    [
        # assertions that are gone
        (PY, "    assert add(0, 0) == 0\n", "", ASSERTIONS),
        (PY, "assert add(0, 0) == 0", "assert True", ASSERTIONS),
        (PY, "add(0, 0) == 0", "add(0, 0) == add(0, 0)", ASSERTIONS),
        (PY, "add(0, 0) == 0", "add(0, 0) == 0 or True", ASSERTIONS),
        (PY, "add(0, 0) == 0", '(add(0, 0), "is 0")', ASSERTIONS),
        (PY, "with pytest.raises(ValueError)", "with suppress(ValueError)", ASSERTIONS),
        (TS, "    expect(add(0, 0)).toBe(0);\n", "", ASSERTIONS),
        (TS, "    expect(add(0", "    // expect(add(0", ASSERTIONS),
        (GOLANG, "\trequire.Equal(t, 0, Add(0, 0))\n", "", ASSERTIONS),
        (RS, "        assert!(add(0, 0) == 0);\n", "", ASSERTIONS),
        (JVM, "    assertEquals(3, add(1, 2));\n", "", ASSERTIONS),
        (RB, "    expect(add(0, 0)).to eq 0\n", "", ASSERTIONS),
        (SH, '  [ "$output" = 3 ]\n', "", ASSERTIONS),
        # tests that are gone
        (PY, "def test_adds", "def adds", TESTS),
        (TS, 'it("adds"', 'it("something else"', None),
        (TS, '  it("adds"', '  /* it("adds"', TESTS),
        (GOLANG, 'func TestFails(t *testing.T) { t.Fatal("x") }\n', "", TESTS),
        (RS, "    #[tokio::test]\n", "", TESTS),
        (JVM, "  @Test\n", "", TESTS),
        (RB, "  it 'fails' do", "  # it 'fails' do", TESTS),
        (SH, '@test "fails" {', "fails() {", TESTS),
        # tests that no longer count
        (PY, "def test_adds", "@pytest.mark.skip\ndef test_adds", SKIPPED),
        (PY, "def test_adds", '@pytest.mark.xfail(reason="x")\ndef test_adds', SKIPPED),
        (PY, "class TestMore", "@unittest.skipIf(True, 'x')\nclass TestMore", SKIPPED),
        (PY, "    assert add(1", "    pytest.skip('x')\n    assert add(1", SKIPPED),
        (PY, "class TestMore:\n", "class TestMore:\n    __test__ = False\n", SKIPPED),
        (TS, 'it("adds"', 'it.skip("adds"', SKIPPED),
        (TS, 'it("adds"', 'it.only("adds"', SKIPPED),
        (TS, 'it("adds"', 'xit("adds"', SKIPPED),
        (TS, "test('fails'", "test.fails('fails'", SKIPPED),
        (GOLANG, "{\n\tif Add", "{\n\tt.Skip()\n\tif Add", SKIPPED),
        (RS, "    #[test]\n", "    #[test]\n    #[ignore]\n", SKIPPED),
        (JVM, "  @Test\n", "  @Disabled\n  @Test\n", SKIPPED),
        (RB, "  it 'fails'", "  xit 'fails'", SKIPPED),
        (RB, "    expect(add(1", "    skip\n    expect(add(1", SKIPPED),
        (SH, "  run add x\n", "  skip\n  run add x\n", SKIPPED),
        # no longer a program
        (PY, "class TestMore:", "class TestMore", BROKEN),
        # what makes nothing weaker
        (PY, "add(0, 0) == 0", "add(0, 1) == 1", None),
        (PY, "test_adds", "test_adds_numbers", None),
        (PY, "import pytest\n", "import pytest\n# skip this line\n", None),
        (TS, "toBe(0)", "toEqual(0)", None),
        (GOLANG, "Add(0, 0))", "Add(0, 0)) // t.Skip()", None),
    ],
)  # fmt: skip
def test_what_makes_a_test_file_weaker(
    path: str, old: str, new: str, how: Weakening | None
) -> None:
    before = FILES[path]
    assert before.count(old) == 1, old
    told = became(path, before, before.replace(old, new))
    if how is None:
        assert Weakening.BROKEN not in told
        assert told in (
            [],
            [Weakening.SKIPPED, Weakening.TESTS],
            [Weakening.TESTS, Weakening.SKIPPED],
        )
    else:
        assert how in told


def test_a_new_test_does_not_make_up_for_a_weaker_one() -> None:
    """Neither in its own file nor in another."""
    after = PYTHON.replace("    assert add(0, 0) == 0\n", "")
    more = "\ndef test_new():\n    assert x() == 1\n    assert y() == 2\n"
    assert became("tests/test_add.py", PYTHON, after + more) == [Weakening.ASSERTIONS]
    gone = PYTHON.partition("class")[0]
    assert became("tests/test_add.py", PYTHON, gone + more) == [Weakening.TESTS]
    both = {"tests/test_add.py": gone, "tests/test_new.py": more}
    assert found({"tests/test_add.py": PYTHON}, both) == [
        ("tests/test_add.py", "test_weakened", Weakening.TESTS)
    ]


def test_a_test_may_move_to_another_file() -> None:
    first, _, last = PYTHON.partition("class TestMore")
    after = {"tests/test_add.py": first, "tests/test_more.py": f"class TestMore{last}"}
    assert found({"tests/test_add.py": PYTHON}, after) == []


def test_helpers_may_not_lose_what_they_assert() -> None:
    before = "def check(x):\n    assert x\n\ndef test_a():\n    check(1)\n"
    after = "def check(x):\n    pass\n\ndef test_a():\n    check(1)\n"
    assert became("tests/test_a.py", before, after) == [Weakening.ASSERTIONS]


@pytest.mark.parametrize(
    ("path", "text", "weak"),
    [
        ("tests/conftest.py", "collect_ignore = ['test_add.py']\n", True),
        ("conftest.py", "def pytest_collection_modifyitems(items):\n    items[:] = []\n", True),
        ("tests/conftest.py", "import pytest\n", False),
        ("src/new.test.js", 'it.only("x", () => { expect(1).toBe(f()); });', True),
        ("src/new.test.js", 'it.skip("x", () => { expect(1).toBe(f()); });', False),
        ("tests/test_new.py", "@pytest.mark.skipif(WINDOWS)\ndef test_x(): assert f()\n", False),
    ],
)  # fmt: skip
def test_a_new_file_may_not_shut_out_other_tests(path: str, text: str, weak: bool) -> None:
    assert found({}, {path: text}) == ([(path, "test_weakened", Weakening.SKIPPED)] if weak else [])


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("tests/cases/one.json", True),
        ("src/__tests__/x.js", True),
        ("test_a.py", True),
        ("a_test.py", True),
        ("pkg/a_test.go", True),
        ("a.spec.tsx", True),
        ("LoginIT.java", True),
        ("FooTests.cs", True),
        ("src/contest.py", False),
        ("src/latest.js", False),
        ("attest.py", False),
        ("src/Edit.java", False),
        ("src/Unit.java", False),
        ("docs/testing.md", False),
    ],
)
def test_what_a_test_file_is_called(path: str, test: bool) -> None:
    assert is_test(path) is test


def test_an_empty_file_of_a_test_package_says_nothing() -> None:
    assert found({"tests/__init__.py": ""}, {}) == []
    assert found({"tests/__init__.py": '"""Tests."""\n'}, {"tests/__init__.py": ""}) == []


def test_data_of_tests_may_be_changed_and_moved_but_not_deleted() -> None:
    case = {"tests/cases/one.json": "{}"}
    assert found(case, {"tests/cases/one.json": "{1}"}) == []
    assert found(case, {"tests/cases/two.json": "{}"}) == []
    assert found(case, {}) == [("tests/cases/one.json", "test_deleted", Weakening.TESTS)]


@given(st.sampled_from(sorted(FILES)), st.text())
def test_whatever_a_test_file_becomes_it_is_read(path: str, text: str) -> None:
    read = reader_of(path)
    assert read is not None
    read(text)
    found({path: FILES[path]}, {path: text})
    found({path: text}, {path: FILES[path]})


@given(st.sampled_from(sorted(FILES)), st.data())
def test_no_line_is_lost_unseen_that_asserts(path: str, data: st.DataObject) -> None:
    """Whichever line with an assertion goes, a person sees it."""
    lines = FILES[path].splitlines(keepends=True)
    asserting = [n for n, line in enumerate(lines) if "assert" in line or "expect(" in line]
    if not asserting:
        return
    gone = data.draw(st.sampled_from(asserting))
    after = "".join(line for n, line in enumerate(lines) if n != gone)
    assert became(path, FILES[path], after)
