"""Files that tell the programs of checks what to do, or the part of a file that does; pure.

What only adds a dependency, or a version, is not among it.
"""

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final

_DEFINED_IN: Final[Mapping[str, str]] = {
    "make": r"(?:gnu|bsd)?makefile(?:\.\w+)?|.*\.mk",
    "just": r"\.?justfile|.*\.just",
    "task": r"taskfile(?:\.dist)?\.ya?ml",
    "nox": r"noxfile\.py",
    "invoke": r"tasks\.py",
    "doit": r"dodo\.py",
    "rake": r"rakefile(?:\.rb)?|.*\.rake",
    "ant": r"build\.xml",
    "mage": r"magefile\.go",
    "gulp": r"gulpfile\.\w+",
    "grunt": r"gruntfile\.\w+",
    "turbo": r"turbo\.jsonc?",
    "nx": r"nx\.json|project\.json",
    "deno": r"deno\.jsonc?",
    "docker": r"(?:.*\.)?dockerfile(?:\..*)?|(?:docker-)?compose[\w.-]*\.ya?ml",
}
"""The files in which programs look up what they are to do, in lower case."""

_SAME: Final = {
    "gmake": "make",
    "bmake": "make",
    "go-task": "task",
    "inv": "invoke",
    "docker-compose": "docker",
}

_DEDICATED: Final = re.compile(
    r"""
    # tests
    \.?pytest\.(?:ini|toml) | tox\.(?:ini|toml) | \.coveragerc | nextest\.toml | \.rspec
    | (?:jest|vitest|playwright|cypress|karma|ava)\.conf(?:ig)?\.\w+ | vitest\.workspace\.\w+
    | \.mocharc(?:\.\w+)? | phpunit\.xml(?:\.dist)? | \.nycrc(?:\.\w+)? | \.c8rc(?:\.\w+)?
    | .*\.runsettings
    # Python
    | \.?ruff\.toml | \.?mypy\.ini | \.flake8 | \.?pylintrc(?:\.toml)? | pyrightconfig\.json
    | \.isort\.cfg | \.bandit | \.importlinter | \.pycodestyle | \.pydocstyle(?:\.ini)? | \.pyre.*
    | ty\.toml | pyrefly\.toml
    # JavaScript and TypeScript
    | \.eslintrc(?:\.\w+)? | eslint\.config\.\w+ | \.eslintignore | [tj]sconfig(?:[\w.-]*)\.json
    | \.?biome\.jsonc? | \.prettierrc(?:\.\w+)? | prettier\.config\.\w+ | \.prettierignore
    | \.stylelintrc(?:\.\w+)? | stylelint\.config\.\w+ | tslint\.json | \.?oxlintrc\.json
    | \.jshintrc | \.xo-config(?:\.\w+)? | \.npmrc
    # Go, Rust
    | \.golangci\.(?:ya?ml|toml|json) | staticcheck\.conf | \.?clippy\.toml | \.?rustfmt\.toml
    | rust-toolchain(?:\.toml)? | deny\.toml
    # Java and its like
    | checkstyle[\w.-]*\.xml | pmd[\w.-]*\.xml | (?:spotbugs|findbugs)[\w.-]*\.xml
    | detekt[\w.-]*\.ya?ml | \.scalafmt\.conf | \.scalafix\.conf | \.sdkmanrc
    # others
    | \.rubocop[\w.-]*\.yml | phpstan[\w.-]*\.neon(?:\.dist)? | psalm\.xml(?:\.dist)?
    | phpcs\.xml(?:\.dist)? | \.php-cs-fixer[\w.-]*\.php | \.credo\.exs | \.formatter\.exs
    | \.swiftlint\.yml | \.shellcheckrc | \.?yamllint(?:\.ya?ml)? | \.markdownlint[\w.-]*
    | \.clang-(?:tidy|format) | \.hadolint\.ya?ml | \.editorconfig
    """,
    re.VERBOSE,
)
"""Files that only say which tests run, or what linters, checkers and builders do."""

_FOLDERS: Final = re.compile(r"(?:.*/)?(?:\.mvn|\.cargo|\.config/nextest)/.*")
_LARGEST: Final = 1_000_000
"""Bytes of a file of which parts are looked at; of a larger one every change counts."""

_LONGEST_LINE: Final = 300
"""Characters of a line that may be a dependency."""

_PACKAGING: Final = frozenset(
    {
        *("poetry", "uv", "setuptools", "setuptools_scm", "flit", "maturin", "scikit-build"),
        *("commitizen", "semantic_release", "bumpversion", "bumpver", "towncrier"),
        *("cibuildwheel", "pdm", "rye", "pixi", "hatch", "briefcase", "dependency-groups"),
    }
)
"""Tools in `pyproject.toml` that say how a package is made, and of what."""

_TASKS: Final = ("scripts", "tasks", "envs")
_PACKAGE: Final = (
    *("scripts", "jest", "mocha", "vitest", "ava", "nyc", "c8", "tap", "xo", "wireit", "nx"),
    *("eslintConfig", "eslintIgnore", "prettier", "stylelint", "standard", "jshintConfig"),
)
_NOT_ABOUT_CHECKS: Final = re.compile(
    r"metadata|options(?:\..*)?|files|bdist.*|sdist|egg_info|build_ext|install|upload.*"
    r"|bumpversion.*|devpi.*"
)
_TARGETS: Final = ("lib", "bin", "example", "bench")
_OF_TARGET: Final = ("test", "doctest", "harness", "required-features")


def definitions_of(program: str) -> str | None:
    """A pattern of the names, in lower case, of files that define what the program does."""
    return _DEFINED_IN.get(_SAME.get(program, program))


def is_dedicated(path: str) -> bool:
    """Whether the file does nothing but tell programs of checks what to do."""
    folded = path.casefold()
    name = folded.rpartition("/")[2]
    return _DEDICATED.fullmatch(name) is not None or _FOLDERS.fullmatch(folded) is not None


def part_about_checks(path: str, content: bytes | None) -> Any:
    """What of a file tells programs of checks what to do; none of it is false.

    Of a file that cannot be read as what it is, that is its whole content.
    """
    read = _PARTS.get(path.casefold().rpartition("/")[2])
    if read is None or content is None:
        return None
    if len(content) > _LARGEST:
        return content
    try:
        return read(content.decode())
    except (ValueError, KeyError, TypeError, AttributeError, configparser.Error, RecursionError):
        return content


def part_that_is_new(path: str, content: bytes | None) -> Any:
    """The same of a new file, without what is about nothing but the folder that it is new in."""
    folder, _, name = path.casefold().rpartition("/")
    found = part_about_checks(path, content)
    if not folder:
        return found
    if name == "package.json" and isinstance(found, dict):
        return {each: value for each, value in found.items() if each != "scripts"}
    return found if name in {"package.json", "pyproject.toml", "setup.cfg"} else None


def _pyproject(text: str) -> Any:
    tools = tomllib.loads(text).get("tool", {})
    found = {name: value for name, value in tools.items() if name not in _PACKAGING}
    tasks = {
        f"{name}.{part}": _without_dependencies(tools[name][part])
        for name in ("hatch", "pdm", "rye", "pixi", "uv")
        for part in _TASKS
        if part in tools.get(name, {})
    }
    return found | tasks


def _without_dependencies(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: _without_dependencies(each)
        for name, each in value.items()
        if not name.endswith("dependencies")
    }


def _package(text: str) -> Any:
    found = json.loads(text)
    return {name: found[name] for name in _PACKAGE if found.get(name)}


def _scripts(text: str) -> Any:
    found = json.loads(text)
    return {name: found[name] for name in ("scripts",) if found.get(name)}


def _setup(text: str) -> Any:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    sections = (name for name in parser.sections() if not _NOT_ABOUT_CHECKS.fullmatch(name))
    return {name: dict(parser[name]) for name in sections}


def _cargo(text: str) -> Any:
    found = tomllib.loads(text)
    package, workspace = found.get("package", {}), found.get("workspace", {})
    parts = {
        "lints": found.get("lints"),
        "profile": found.get("profile"),
        "test": found.get("test"),
        "autotests": package.get("autotests"),
        "build": package.get("build"),
        "workspace": [workspace.get(each) for each in ("lints", "exclude", "default-members")],
        "targets": [_target(each) for name in _TARGETS for each in _tables(found.get(name))],
    }
    parts["workspace"] = [each for each in parts["workspace"] if each]
    parts["targets"] = [each for each in parts["targets"] if each]
    return {name: each for name, each in parts.items() if each not in (None, [], {})}


def _tables(found: Any) -> list[Any]:
    return [found] if isinstance(found, dict) else found or []


def _target(table: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: table[name] for name in _OF_TARGET if name in table}
    return {"name": table.get("name"), **own} if own else {}


def _pom(text: str) -> Any:
    """The text without comments, dependencies and versions; the whole where it may hide any."""
    bare = _without(text, "<!--", "-->")
    if "<!" in bare or "<?" in bare.removeprefix("<?"):
        return text
    for name in ("dependencies", "dependencyManagement"):
        bare = _without(bare, f"<{name}>", f"</{name}>")
    return re.sub(r"<([\w.-]*version|name|description|url)>[^<]*</\1>", "", bare).split()


def _without(text: str, begin: str, end: str) -> str:
    """The text without what stands from `begin` to `end`, as often as both are there."""
    first, *others = text.split(begin)
    kept = (each.partition(end)[2] if end in each else begin + each for each in others)
    return first + "".join(kept)


_GRADLE_DEPENDENCY: Final = re.compile(
    r"(?:\w*[Ii]mplementation|\w*[Aa]pi|\w*(?:CompileOnly|RuntimeOnly)|compileOnly|runtimeOnly"
    r"|kapt|ksp|\w*[Aa]nnotationProcessor)\b"
    r"[\s(]+(?:(?:platform|project|kotlin|libs)\b[\w.(]*)?[\s(]*"
    r"(?:['\"](?:[^'\"{};]|\$\{[\w.]+\})*['\"])?[\s)]*"
)
_GRADLE_VERSION: Final = re.compile(r"\b\w*[vV]ersion(?:\s*=)?\s*['\"][\w.+-]*['\"]")


def _gradle(text: str) -> Any:
    """The lines that are not blank, without dependencies and versions."""
    kept: list[str] = []
    for whole in text.splitlines():
        short = len(whole) <= _LONGEST_LINE
        line = _GRADLE_VERSION.sub("", whole).strip() if short else whole
        if not line or line.startswith("//") or (short and _GRADLE_DEPENDENCY.fullmatch(line)):
            continue
        if line == "}" and kept[-1:] == ["dependencies {"]:
            kept.pop()
            continue
        kept.append(line)
    return kept


def _properties(text: str) -> Any:
    """The lines but for comments and versions."""
    lines = (line.strip() for line in text.splitlines())
    said = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return [each for each in said if not each[0].rstrip().casefold().endswith("version")]


def _vite(text: str) -> Any:
    """All of it, if it is about tests, too."""
    return text if re.search(r"\btest\b['\"]?\s*:", text) else ""


_PARTS: Final[Mapping[str, Callable[[str], Any]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup,
    "package.json": _package,
    "composer.json": _scripts,
    "cargo.toml": _cargo,
    "pom.xml": _pom,
    **{f"{name}.gradle{end}": _gradle for name in ("build", "settings") for end in ("", ".kts")},
    "gradle.properties": _properties,
    **{f"vite.config.{end}": _vite for end in ("js", "ts", "mjs", "mts", "cjs", "cts")},
}
