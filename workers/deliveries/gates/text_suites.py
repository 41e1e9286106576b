"""What test files of other languages hold, read by the patterns of each language."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from workers.deliveries.gates.python_suite import read_python
from workers.deliveries.gates.suites import Case, Read, Suite

_C_COMMENTS: Final = r"//[^\n]*+|/\*.*?(?:\*/|\Z)"
_HASH_COMMENTS: Final = r"(?:(?m:^)|(?<=\s))\#[^\n]*+"
_STRINGS: Final = r'"(?:\\.|[^"\\\n])*+"' + r"|'(?:\\.|[^'\\\n])*+'"
_NAME: Final = r"\"(?:\\.|[^\"\\\n]){0,200}+\"|'(?:\\.|[^'\\\n]){0,200}+'|`[^`\n]{0,200}+`"
_WINDOW: Final = 600
"""Characters after the mark of a test in which its name stands."""


@dataclass(frozen=True, slots=True)
class Language:
    """How a language writes tests, as patterns.

    `begins` is how a test begins, with its name in a group; or what marks one, if `name` finds the
    name after it. Whoever makes a delivery writes the text: no pattern may try a place twice that
    has no bound.
    """

    comments: str
    begins: str
    asserts: str
    skips: str = r"(?!)"
    shuts_out: str = r"(?!)"
    name: str | None = None


_JAVASCRIPT: Final = Language(
    _C_COMMENTS,
    r"\b(?:[fx]?it|[fx]?test|specify|scenario|[fx]?describe|Deno\.test)(?:\.\w+){0,4}+"
    r"(?:`[^`]{0,4000}`|\([^()]{0,4000}\))?\(\s{0,200}+(" + _NAME + ")",
    r"\bexpect(?:\.\w+){0,4}+\s?[(<]|\bassert\w*+(?:\.\w+){0,4}+\s?\(|\.should\b"
    r"|\bt\.(?:is|deepEqual|true|false|throws|like|truthy|falsy)\(|\bcy\.\w+\(",
    r"\b(?:it|test|describe|context)\.(?:skip|todo|fails|failing|fixme)\b"
    r"|\bx(?:it|test|describe)\b|\bthis\.skip\(",
    r"\b(?:it|test|describe|context)\.only\b|\bf(?:it|test|describe)\(",
)
_GO: Final = Language(
    _C_COMMENTS,
    r"(?m:^)func[ \t]++((?:Test|Fuzz|Example|Benchmark)\w*+)[ \t]*+\(",
    r"\b\w++\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is|qt|Expect|Ω)"
    r"(?:\.\w+)?\(|\bcmp\.Diff\(",
    r"\b\w++\.(?:Skip|Skipf|SkipNow)\(|(?m:^)//go:build[ \t]++ignore",
    r"\bos\.Exit\(0\)",
)
_RUST: Final = Language(
    _C_COMMENTS,
    r"#\[(?:\w++::){0,4}+test\b",
    r"\b(?:debug_)?assert\w*+!|\bpanic!|\bprop_assert\w*+!|\bunreachable!|\.unwrap\w*+\("
    r"|\.expect\w*+\(|should_panic",
    r"#\[ignore\b|#!?\[cfg\((?:any\(\)|FALSE)\)\]",
    name=r"\bfn[ \t]++(\w++)",
)
_JVM: Final = Language(
    _C_COMMENTS,
    r"@(?:Test|ParameterizedTest|RepeatedTest|Property|TestFactory)\b",
    r"\b(?:assert|verify|expect|should|fail)\w*+\s?[({<]|\bassert\b|\.should\w*+\b|\bandExpect\(",
    r"@(?:Disabled|Ignore)\b|\bassum\w++\s?\(",
    name=r"(?<![@\w.])(\w++|`[^`\n]{1,200}+`)\s?\([^()]{0,300}+\)[^({;@]{0,200}+[{=]",
)
_DOTNET: Final = Language(
    _C_COMMENTS,
    r"\[(?:Fact|Theory|Test|TestMethod|TestCase)\b",
    r"\bAssert\.\w+|\.Should\w*+\(|\.Verify\w*+\(",
    r"\[(?:Ignore|Explicit)\b|\bSkip\s?=|\bAssert\.(?:Ignore|Inconclusive)\(",
    name=r"(?<![\w.])(\w++)\s?\([^()]{0,300}+\)\s{0,40}+(?:\{|=>)",
)
_RUBY: Final = Language(
    _HASH_COMMENTS,
    r"(?m:^)[ \t]*+(?:def[ \t]++(test_\w++[?!]?)|(?:it|specify|test|scenario|example)[ \t(]{1,9}+"
    r"(" + _NAME + r"|\{))",
    r"\bassert\w*+|\brefute\w*+|\bexpect\s?[({]|\bis_expected\b|\.should\w*+\b"
    r"|\b(?:must|wont)_\w+",
    r"(?m:^)[ \t]*+(?:skip|pending|x(?:it|describe|context|specify))\b|\bskip:|\bpending:",
    r"(?m:^)[ \t]*+f(?:it|describe|context|specify)\b|\bfocus:[ ]?true\b|:focus\b",
)
_SHELL: Final = Language(
    _HASH_COMMENTS,
    r"(?m:^)[ \t]*+(?:@test[ \t]++(" + _NAME + r")|(?:function[ \t]++)?(test\w*+)[ \t]*+[({])",
    r"\bassert\w*+|(?<![\w-])\[\[?\s|(?<![\w-])test\s[!\"$-]|\bexit [1-9]|\breturn [1-9]|\bfail\b"
    r"|(?m:^)[ \t]*+set -\w*e|\brun\s|\brefute\w*+|\bcmp\s|\bdiff\s|\bgrep -\w*q",
    r"\bskip\b|\|\|\s?(?:true|:)(?!\S)|\bexit 0\b",
)
_PHP: Final = Language(
    rf"{_C_COMMENTS}|{_HASH_COMMENTS}",
    r"\bfunction[ \t]++(test\w*+)\s?\(|\b(?:it|test)\(\s{0,200}+(" + _NAME + ")",
    r"(?:->|::)(?:assert|expect)\w*+\(|\bexpect\(",
    r"markTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\(",
    r"->only\(",
)
_ELIXIR: Final = Language(
    _HASH_COMMENTS,
    r"(?m:^)[ \t]*+(?:test|property)[ \t]++(" + _NAME + ")",
    r"\b(?:assert|refute)\w*+",
    r"@(?:module)?tag[ \t]++(?::skip|skip:)",
    r"@(?:module)?tag[ \t]++:focus",
)
_SWIFT: Final = Language(
    _C_COMMENTS,
    r"\bfunc[ \t]++(test\w*+)\s?\(|@Test\b[^\n]{0,200}?\bfunc[ \t]++(\w++)",
    r"\bXCT\w++\s?\(|#(?:expect|require)\b",
    r"\bXCTSkip\w*+|\.disabled\(",
)
_C: Final = Language(
    _C_COMMENTS,
    r"(?m:^)[ \t]*+(?:TEST(?:_[FP])?|TEST_CASE|SCENARIO|BOOST_AUTO_TEST_CASE)\s?"
    r"\(([^)\n]{0,300}+)\)|(?m:^)(?:\w++[ *]{1,9}+){0,5}?(test_\w++)\s?\(",
    r"\b(?:ASSERT|EXPECT|CHECK|REQUIRE|BOOST_\w+|TEST_ASSERT|ck_assert)\w*+\s?\("
    r"|\bassert\w*+\s?\(",
    r"\bGTEST_SKIP\b|\bDISABLED_\w+|\bSKIP\(|\bTEST_IGNORE\w*+",
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
    ends = [*(found.start() for found in begins), len(text)][1:]
    times: Counter[str] = Counter()
    cases: dict[str, Case] = {}
    for found, end in zip(begins, ends, strict=True):
        name, start = _name_of(language, found, min(end, found.end() + _WINDOW))
        times[name] += 1
        body = text[start:end]
        cases[name if times[name] == 1 else f"{name}#{times[name]}"] = Case(
            len(re.findall(language.asserts, body)), " ".join(body.split())
        )
    return Suite(
        cases,
        len(re.findall(language.asserts, text)),
        len(re.findall(language.skips, text)),
        len(re.findall(language.shuts_out, text)),
    )


def _name_of(language: Language, begins: re.Match[str], end: int) -> tuple[str, int]:
    """The name of a test, empty if it cannot be found, and where its text begins."""
    found: re.Match[str] | None = begins
    if language.name is not None:
        found = re.compile(language.name).search(begins.string, begins.end(), end)
    if found is None:
        return "", begins.end()
    return next(filter(None, found.groups()), ""), found.end()


def _without_comments(text: str, comments: str) -> str:
    """The text without comments; what looks like one inside a string stays."""
    pattern = re.compile(f"(?P<string>{_STRINGS})|{comments}", re.DOTALL)
    return pattern.sub(lambda found: found["string"] or " ", text)
