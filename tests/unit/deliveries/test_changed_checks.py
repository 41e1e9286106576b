"""Files that decide what checks do: those of the repository, and the step's own."""

import pytest

from shared.domain.delivery import Trust
from shared.domain.findings import GateRule
from tests.unit.deliveries.made import Files, delivery
from workers.deliveries.gates.examine import examine
from workers.deliveries.gates.values import GatePolicy


def found(base: Files, tree: Files, policy: GatePolicy | None = None) -> list[str]:
    """The paths of which a person is told that they decide what the checks do."""
    report = examine(delivery(base, tree, policy))
    return [each.path for each in report.findings if each.rule is GateRule.CHECKS]


def changes(check: str, path: str) -> bool:
    """Whether a step's own check counts where a delivery changes that file of the base."""
    return found({path: "1"}, {path: "2"}, GatePolicy(step_checks=(check,))) == [path]


@pytest.mark.parametrize(
    ("check", "path"),
    [
        ("make verify", "Makefile"),
        ("cd sub && make test", "sub/Makefile"),
        ("make -C sub test", "sub/GNUmakefile"),
        ("sh -c 'make test'", "Makefile"),
        ("make -f ci/x.mk", "ci/x.mk"),
        ("just test", "justfile"),
        ("./verify.sh", "verify.sh"),
        ("cd ci && ./verify.sh", "ci/verify.sh"),
        ("(cd ci; true); ./verify.sh", "verify.sh"),
        ("bash -c 'cd ci && sh verify.sh'", "ci/verify.sh"),
        ("python -m tools.verify", "tools/verify.py"),
        ("pytest tests/x.py::test_a", "tests/x.py"),
        ("ruff check --config=ci/rules.toml .", "ci/rules.toml"),
        ("diff out.txt expected.txt", "expected.txt"),
        ("cat verify.sh | sh", "verify.sh"),
        ("test -x verify.sh && ./verify.sh", "verify.sh"),
        ("true\n./verify.sh", "verify.sh"),
    ],
)
def test_a_steps_own_check_counts(check: str, path: str) -> None:
    assert changes(check, path)


@pytest.mark.parametrize(
    ("check", "path"),
    [
        ("grep -q done README", "README"),
        ("! grep -q 'TODO in README' notes", "README"),
        ("test -s README && [ -f README ]", "README"),
        ('test "$(cat README)" = done', "README"),
        ("cat README", "README"),
        ("make verify > README", "README"),
        ("pytest", "Makefile"),
        ("./verify.sh", "ci/verify.sh"),
    ],
)
def test_what_a_check_only_looks_at_is_the_work(check: str, path: str) -> None:
    assert not changes(check, path)


def test_what_a_steps_own_check_names_may_be_what_the_step_makes() -> None:
    policy = GatePolicy(step_checks=("python made.py && make verify",))
    assert found({}, {"made.py": "print()\n"}, policy) == []
    assert found({}, {"Makefile": "verify:\n"}, policy) == ["Makefile"]


@pytest.mark.parametrize(
    "path",
    [
        *("ruff.toml", ".ruff.toml", "mypy.ini", ".flake8", ".pylintrc", "pyrightconfig.json"),
        *(".eslintrc", ".eslintrc.json", "eslint.config.mjs", "tsconfig.json"),
        *("web/tsconfig.build.json", ".golangci.yml", ".golangci.yaml", "clippy.toml"),
        *(".cargo/config.toml", ".mvn/maven.config", "checkstyle.xml", ".rubocop.yml"),
    ],
)
def test_files_that_only_configure_programs_of_checks_count_always(path: str) -> None:
    assert found({path: "1"}, {path: "2"}) == [path]
    assert found({}, {path: "1"}) == [path]
    assert found({path: "1"}, {}) == [path]


POM = """<?xml version="1.0"?>
<project><version>1</version>
  <properties><a.version>1</a.version></properties>
  <dependencies><dependency><artifactId>a</artifactId></dependency></dependencies>
  <build><plugins/></build>
</project>
"""
GRADLE = """plugins { id("java") version "1.0" }
dependencies {
    implementation("a:b:1.0")
}
test { enabled = true }
"""
CARGO = '[package]\nname = "a"\nversion = "1"\n[dependencies]\na = "1"\n[lints.rust]\nx = "deny"\n'
PROJECT = '[project]\ndependencies = ["a"]\n[tool.ruff]\nselect = ["ALL"]\n[tool.uv]\na = 1\n'
PACKAGE = '{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}, "eslintConfig": {"a": 1}}'
SETUP = "[metadata]\nversion = 1\n[flake8]\nselect = A\n[options]\ninstall_requires = a\n"
HATCH = '[tool.hatch.envs.a]\ndependencies = ["a"]\nscripts.t = "pytest"\n'


@pytest.mark.parametrize(
    ("path", "before", "old", "new"),
    [
        ("pom.xml", POM, "<plugins/>", "<plugins><skip>true</skip></plugins>"),
        ("pom.xml", POM, "<a.version>", "<skipTests>true</skipTests><a.version>"),
        ("pom.xml", POM, "<project>", "<project><![CDATA[<dependencies>]]>"),
        ("build.gradle", GRADLE, "true", "false"),
        ("app/build.gradle.kts", GRADLE, "}\ntest", "implementation('a');test.x=1 }\ntest"),
        ("Cargo.toml", CARGO, "deny", "allow"),
        ("Cargo.toml", CARGO, "[lints", '[[test]]\nname = "a"\nharness = false\n[lints'),
        ("pyproject.toml", PROJECT, '"ALL"', '"E"'),
        ("sub/pyproject.toml", PROJECT, "[tool.uv]", "[tool.mypy]\nstrict = false\n[tool.uv]"),
        ("pyproject.toml", HATCH, "pytest", "true"),
        ("package.json", PACKAGE, "jest", "true"),
        ("web/package.json", PACKAGE, "jest", "true"),
        ("package.json", PACKAGE, '{"a": 1}', '{"a": 0}'),
        ("setup.cfg", SETUP, "select = A", "select = B"),
        ("vite.config.ts", "{test: {a: 1}}", "1", "2"),
        ("gradle.properties", "a.version=1\nskip=no\n", "no", "yes"),
    ],
)
def test_the_part_of_a_file_that_is_about_checks_counts(
    path: str, before: str, old: str, new: str
) -> None:
    assert old in before
    assert found({path: before}, {path: before.replace(old, new)}) == [path]


@pytest.mark.parametrize(
    ("path", "before", "old", "new"),
    [
        ("pom.xml", POM, "<dependencies>", "<dependencies><dependency>b</dependency>"),
        ("pom.xml", POM, "<a.version>1", "<a.version>2"),
        ("pom.xml", POM, "<version>1", "<version>2"),
        ("pom.xml", POM, "  <dependencies>", "<!-- new -->\n  <dependencies>"),
        ("build.gradle", GRADLE, "dependencies {", "dependencies {\n  api 'c:d:2'"),
        (
            "build.gradle",
            GRADLE,
            "dependencies {",
            "dependencies {\n  testImplementation(libs.a.b)",
        ),
        ("build.gradle", GRADLE, 'version "1.0"', 'version "1.1"'),
        ("Cargo.toml", CARGO, 'a = "1"', 'a = "1"\nb = "2"'),
        ("Cargo.toml", CARGO, "[lints", '[[bin]]\nname = "a"\n[lints'),
        ("pyproject.toml", PROJECT, '["a"]', '["a", "b"]'),
        ("pyproject.toml", PROJECT, "a = 1", "a = 2"),
        ("pyproject.toml", HATCH, '["a"]', '["a", "b"]'),
        ("package.json", PACKAGE, '{"a": "1"}', '{"a": "1", "b": "2"}'),
        ("setup.cfg", SETUP, "install_requires = a", "install_requires = b"),
        ("vite.config.ts", "{plugins: []}", "[]", "[a]"),
        ("gradle.properties", "a.version=1\nskip=no\n", "=1", "=2"),
    ],
)
def test_a_dependency_or_a_version_asks_nobody(path: str, before: str, old: str, new: str) -> None:
    assert old in before
    assert found({path: before}, {path: before.replace(old, new)}) == []


@pytest.mark.parametrize(
    ("path", "content", "counts"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--co'\n", True),
        ("sub/pyproject.toml", "[tool.ruff]\nselect = []\n", True),
        ("pyproject.toml", "[project]\nname = 'a'\n", False),
        ("package.json", PACKAGE, True),
        ("web/package.json", '{"scripts": {"test": "true"}}', False),
        ("module/pom.xml", POM, False),
        ("pyproject.toml", "[", True),
    ],
)
def test_a_new_file_counts_where_there_are_checks_that_it_can_change(
    path: str, content: str, counts: bool
) -> None:
    policy = GatePolicy(checks=("./verify",))
    assert found({}, {path: content}, policy) == [path] * counts
    assert found({}, {path: content}) == []


@pytest.mark.parametrize("check", ["'", "((", "make '", "cd", "x=", "a | | b", "sh -c 'sh -c \"a'"])
def test_any_text_may_be_a_check(check: str) -> None:
    policy = GatePolicy(checks=(check,), step_checks=(check,))
    assert found({"a.py": "1"}, {"a.py": "2"}, policy) == []


SCRIPTS = '{"name": "a", "scripts": {"test": "jest"}}'
CHECKS = GatePolicy(checks=("make test && ./ci/check.sh", "npm test"))
SCRIPTS = '{"name": "a", "scripts": {"test": "jest"}}'


@pytest.mark.parametrize(
    ("path", "before", "after", "found"),
    [
        ("Makefile", "test:\n\tpytest\n", "test:\n\ttrue\n", True),
        ("sub/Makefile", "1", "2", True),
        ("sub/Makefile.old/readme", "1", "2", False),
        ("ci/rules.mk", "1", "2", True),
        ("ci/check.sh", "pytest", "", True),
        ("ci/other.sh", "1", "2", False),
        ("pytest.ini", "", "[pytest]\naddopts = --ignore=tests\n", True),
        ("jest.config.js", "1", "2", True),
        ("package.json", SCRIPTS, SCRIPTS.replace("jest", "true"), True),
        ("package.json", SCRIPTS, SCRIPTS.replace('"a"', '"b"'), False),
        ("package.json", SCRIPTS, "{", True),
        ("pyproject.toml", "[tool.pytest]\na = 1\n", "[tool.pytest]\na = 2\n", True),
        ("pyproject.toml", "[tool.pytest]\na = 1\n", "[tool.pytest]\na = 1\n[x]\n", False),
        ("setup.cfg", "[tool:pytest]\na = 1\n", "[tool:pytest]\n", True),
        ("setup.cfg", "[metadata]\na = 1\n", "[metadata]\na = 2\n", False),
    ],
)
def test_files_that_decide_what_checks_do_need_a_person(
    path: str, before: str, after: str, found: bool
) -> None:
    """A delivery is not to be judged by rules of its own making."""
    report = examine(delivery({path: before} if before else {}, {path: after}, CHECKS))
    assert [each.rule for each in report.findings] == [GateRule.CHECKS] * found
    assert report.trust is (Trust.PERSON if found else Trust.CHECKS)
