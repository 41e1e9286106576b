"""What test files of other languages hold, read by the patterns of each language."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from workers.deliveries.gates.python_suite import read_python
from workers.deliveries.gates.suites import Case, Read, Suite

_C_COMMENTS: Final = r"//[^\n]*|/\*.*?\*/"
_HASH_COMMENTS: Final = r"(?m:(?:^|(?<=\s))\#[^\n]*)"
_STRINGS: Final = r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'"


@dataclass(frozen=True, slots=True)
class Language:
    """How a language writes tests: patterns of a test's beginning, its `name`, and the rest."""

    comments: str
    begins: str
    asserts: str
    skips: str = r"(?!)"
    shuts_out: str = r"(?!)"


_JAVASCRIPT: Final = Language(
    _C_COMMENTS,
    r"\b(?:[fx]?it|[fx]?test|specify|scenario|[fx]?describe)(?:\.\w+)*(?:`[^`]*`|\([^()]*\))?"
    r"\(\s*(?P<name>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`)"
    r"|\bDeno\.test\(\s*(?P<other>\"[^\"\n]*\"|'[^'\n]*')",
    r"\bexpect(?:\.\w+)*\s*[(<]|\bassert\w*(?:\.\w+)*\s*\(|\.should\b|\bt\.(?:is|deepEqual|true"
    r"|false|throws|like|truthy|falsy)\(|\bcy\.\w+\(",
    r"\b(?:it|test|describe|context)\.(?:skip|todo|fails|failing|fixme)\b"
    r"|\bx(?:it|test|describe)\b|\bthis\.skip\(",
    r"\b(?:it|test|describe|context)\.only\b|\bf(?:it|test|describe)\(",
)
_GO: Final = Language(
    _C_COMMENTS,
    r"(?m:^)func\s+(?P<name>(?:Test|Fuzz|Example|Benchmark)\w*)\s*\(",
    r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is|qt|Expect|Ω)"
    r"(?:\.\w+)?\(|\bcmp\.Diff\(",
    r"\b\w+\.(?:Skip|Skipf|SkipNow)\(|(?m:^)//go:build\s+ignore",
    r"\bos\.Exit\(0\)",
)
_RUST: Final = Language(
    _C_COMMENTS,
    r"#\[(?:\w+::)*test\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)",
    r"\b(?:debug_)?assert\w*!|\bpanic!|\bprop_assert\w*!|\bunreachable!|\.unwrap\w*\(|\.expect\w*\("
    r"|should_panic",
    r"#\[ignore\b|#!?\[cfg\((?:any\(\)|FALSE)\)\]",
)
_JVM: Final = Language(
    _C_COMMENTS,
    r"@(?:Test|ParameterizedTest|RepeatedTest|Property|TestFactory)\b(?:\([^()]*\))?"
    r"(?:\s*@\w+(?:\([^()]*\))?)*\s*(?:public\s+|private\s+|internal\s+|final\s+|suspend\s+)*"
    r"(?:(?:static\s+)?[\w<>\[\]?,. ]+\s+|fun\s+)(?P<name>\w+|`[^`]+`)\s*\(",
    r"\b(?:assert|verify|expect|should|fail)\w*\s*[({<]|\bassert\b|\.should\w*\b|\bandExpect\(",
    r"@(?:Disabled|Ignore)\b|\bassum\w+\s*\(",
)
_DOTNET: Final = Language(
    _C_COMMENTS,
    r"\[(?:Fact|Theory|Test|TestMethod|TestCase)\b[^\]]*\](?:\s*\[[^\]]*\])*\s*"
    r"(?:public\s+|private\s+|internal\s+|static\s+|async\s+)*[\w<>\[\]?.]+\s+(?P<name>\w+)\s*\(",
    r"\bAssert\.\w+|\.Should\w*\(|\.Verify\w*\(",
    r"\[(?:Ignore|Explicit)\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive)\(",
)
_RUBY: Final = Language(
    _HASH_COMMENTS,
    r"(?m:^)\s*(?:def\s+(?P<name>test_\w+[?!]?)|(?:it|specify|test|scenario|example)\s*\(?\s*"
    r"(?P<other>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\{))",
    r"\bassert\w*|\brefute\w*|\bexpect\s*[({]|\bis_expected\b|\.should\w*\b|\b(?:must|wont)_\w+",
    r"(?m:^)\s*(?:skip|pending|x(?:it|describe|context|specify))\b|\bskip:|\bpending:",
    r"(?m:^)\s*f(?:it|describe|context|specify)\b|\bfocus:?\s*true\b|:focus\b",
)
_SHELL: Final = Language(
    _HASH_COMMENTS,
    r"(?m:^)\s*(?:@test\s+(?P<name>\"[^\"\n]*\"|'[^'\n]*')|(?:function\s+)?(?P<other>test\w*)\s*"
    r"(?:\(\s*\)|\s*\{))",
    r"\bassert\w*|(?<![\w-])\[\[?\s|(?<![\w-])test\s+[!\"$-]|\bexit\s+[1-9]|\breturn\s+[1-9]|\bfail\b"
    r"|(?m:^)\s*set\s+-\w*e|\brun\s|\brefute\w*|\bcmp\s|\bdiff\s|\bgrep\s+-\w*q",
    r"\bskip\b|\|\|\s*(?:true|:)(?!\S)|\bexit\s+0\b",
)
_PHP: Final = Language(
    rf"{_C_COMMENTS}|{_HASH_COMMENTS}",
    r"function\s+(?P<name>test\w*)\s*\(|\b(?:it|test)\(\s*(?P<other>\"[^\"\n]*\"|'[^'\n]*')",
    r"(?:->|::)(?:assert|expect)\w*\(|\bexpect\(",
    r"markTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\(",
    r"->only\(",
)
_ELIXIR: Final = Language(
    _HASH_COMMENTS,
    r"(?m:^)\s*(?:test|property)\s+(?P<name>\"(?:\\.|[^\"\\\n])*\")",
    r"\b(?:assert|refute)\w*",
    r"@(?:module)?tag\s+(?::skip|skip:)",
    r"@(?:module)?tag\s+:focus",
)
_SWIFT: Final = Language(
    _C_COMMENTS,
    r"\bfunc\s+(?P<name>test\w*)\s*\(|@Test\b(?:\([^)]*\))?\s*func\s+(?P<other>\w+)",
    r"\bXCT\w+\s*\(|#(?:expect|require)\b",
    r"\bXCTSkip\w*|\.disabled\(",
)
_C: Final = Language(
    _C_COMMENTS,
    r"(?m:^)\s*(?:TEST(?:_[FP])?|TEST_CASE|SCENARIO|BOOST_AUTO_TEST_CASE)\s*\((?P<name>[^)\n]*)\)"
    r"|(?m:^)[\w ]+\s\*?(?P<other>test_\w+)\s*\(",
    r"\b(?:ASSERT|EXPECT|CHECK|REQUIRE|BOOST_\w+|TEST_ASSERT|ck_assert)\w*\s*\(|\bassert\w*\s*\(",
    r"\bGTEST_SKIP\b|\bDISABLED_\w+|\bSKIP\(|\bTEST_IGNORE\w*",
)

_LANGUAGES: Final[Mapping[str, Language]] = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"), _JAVASCRIPT),
    "go": _GO,
    "rs": _RUST,
    **dict.fromkeys(("java", "kt", "kts", "groovy", "scala"), _JVM),
    **dict.fromkeys(("cs", "fs", "vb"), _DOTNET),
    "rb": _RUBY,
    **dict.fromkeys(("sh", "bash", "bats"), _SHELL),
    "php": _PHP,
    **dict.fromkeys(("ex", "exs"), _ELIXIR),
    "swift": _SWIFT,
    **dict.fromkeys(("c", "cc", "cpp", "cxx", "h", "hpp"), _C),
}


def reader_of(path: str) -> Read | None:
    """What reads the test file at the path; None for files of no known language."""
    ending = path.rpartition("/")[2].rpartition(".")[2].casefold()
    if ending in {"py", "pyi"}:
        return read_python
    language = _LANGUAGES.get(ending)
    return None if language is None else partial(read_text, language)


def read_text(language: Language, text: str) -> Suite:
    """What the text of a test file holds; what is commented out does not count.

    A test reaches to the beginning of the next one.
    """
    text = _without_comments(text, language.comments)
    begins = list(re.finditer(language.begins, text))
    ends = [found.start() for found in begins[1:]] + [len(text)]
    times: Counter[str] = Counter()
    cases: dict[str, Case] = {}
    for found, end in zip(begins, ends, strict=True):
        name = next(filter(None, found.groups()), "")
        times[name] += 1
        body = text[found.end() : end]
        cases[name if times[name] == 1 else f"{name}#{times[name]}"] = Case(
            len(re.findall(language.asserts, body)), " ".join(body.split())
        )
    return Suite(
        cases,
        len(re.findall(language.asserts, text)),
        len(re.findall(language.skips, text)),
        len(re.findall(language.shuts_out, text)),
    )


def _without_comments(text: str, comments: str) -> str:
    """The text without comments; what looks like one inside a string stays."""
    pattern = re.compile(f"(?P<string>{_STRINGS})|{comments}", re.DOTALL)
    return pattern.sub(lambda found: found["string"] or " ", text)
