"""What the guard reads is what a real shell runs: the two are compared, call by call."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.guard.shell.convert import Unreadable
from shared.guard.shell.fast_path import plain_words
from shared.guard.shell.parse import Dialect, Shfmt, dialects
from shared.guard.shell.tree import Block, Literal, Simple
from tests.unit.guard.recording import SHELLS, Recorder, dialect_of

SHFMT = Shfmt()
EXAMPLES = settings(
    max_examples=120,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)

# words of which all is known beforehand, in every kind of quoting
QUOTED = [
    "''", '""', "'a b'", '"a b"', "'$V'", '"\\$V"', '"a\\\\b"', '"a\\qb"', "\\a", "\\ ", "\\\\",
    "\\'", '\\"', "\\$", "\\*", "\\~", "\\\n", '"x\\\ny"', "'x\\\ny'", '"\'"', '\'"\'',
    '"`echo q`"', "''\\''",
]  # fmt: skip
EXPANDED = [
    "$V", "${V}", '"$V"', "$W", '"$W"', "$E", '"$E"', "$S", '"$S"', "${V:-x}", "${E:-d e}",
    '"${W:+k l}"', "${V?}", "$@", '"$@"', "$*", '"$*"', "$(echo x y)", '"$(echo x  y)"',
    "`echo z`", "$(printf 'a b\\n')", "$(printf '%s-%s' p q)", "$(true)", '"$(true)"',
    "$(cat <<< h 2>/dev/null)z", "~", "~/a", "a~", "x=~", '"~"', "a:~", '~/"b"',
]  # fmt: skip
BRACES = [
    "{a,b}", "{1..3}", "{3..1}", "{a..c}", "{01..3}", "{1..5..2}", "{a,{b,c}}", "{,}", "{a}", "{",
    "}", "{a,b", '{"a b",c}', "x{,y}z", "{a,b}{c,d}", "{a\\,b,c}", "{$W,b}", "{}", "{a..}",
    "{,a}",
]  # fmt: skip
BASH_QUOTED = [
    "$'a'", "$'\\n'", "$'\\x41'", "$'\\101'", "$'\\''", "$'\\\\'", "$'\\t'", "$'\\u00e9'",
    "$'a b'", "$'\\e'", '$\'\\"\'', "$'\\?'", "$'\\q'", '$"a b"', "$'\\x4'", "$'\\1012'",
]  # fmt: skip
PLAIN = st.text("abXY019-_=:/.,+@%^", min_size=1, max_size=6)
FORMS = [
    "rec {0}", "rec {0} {1} {2}", "rec {0}; rec {1}", "rec {0} && rec {1} || rec {2}",
    'for i in {0} {1}; do rec "$i" $i; done', 'f() {{ rec "$1" "$@" $2; }}; f {0} {1}',
    'x={0}; rec "$x" $x', 'sh -c \'rec "$@" "$0"\' {0} {1}', "eval rec '{0}' 2>/dev/null",
    "if rec {0}; then rec {1}; fi", "(rec {0}) | rec {1}", "env A=b rec {0} {1}",
    "x=$(rec {0}; echo {1})", "echo {0} | xargs rec y", "rec {0} > f 2>&1 < /dev/null",
    "command rec {0}", "{{ rec {0}; rec {1}; }} &\nwait", "case {0} in *) rec {1};; esac",
    "rec a # rec {0}\nrec {1}", "cat <<E | sh\nrec {1}\nE",
]  # fmt: skip


def words(shell: str) -> st.SearchStrategy[str]:
    """One word, glued together from parts of every kind."""
    parts = QUOTED + EXPANDED + BRACES
    if dialect_of(shell) is Dialect.BASH:
        parts = parts + BASH_QUOTED
    part = st.one_of(PLAIN, st.sampled_from(parts))
    return st.lists(part, min_size=1, max_size=3).map("".join)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """A folder with the recording program."""
    return Recorder(tmp_path_factory.mktemp("recorded"))


@pytest.mark.parametrize("shell", SHELLS)
@EXAMPLES
@given(data=st.data())
def test_the_words_that_the_guard_sees_are_those_that_the_program_gets(
    shell: str, recorder: Recorder, data: st.DataObject
) -> None:
    """For every call of which the guard claims to know all, it knows it exactly."""
    given_words = [data.draw(words(shell)) for _ in range(3)]
    command = "V='a  b'; W=c; E=; S=' p '; " + data.draw(st.sampled_from(FORMS)).format(
        *given_words
    )
    seen, reading = recorder.read(dialect_of(shell), command)
    if reading.doubts or None in seen:
        return  # a person is asked: the next test holds these to their promise
    executed = recorder.executed(shell, command)
    missing = [call for call in executed if call not in seen]
    assert missing == [], (command, seen)


SOUP = [
    "\\\n", "\\\n", "\n", "\n", ";", "&&", "||", "|", "&", " ( ", " ) ", " { ", "; }", " if ",
    " then ", " fi", "$(", ")", "`", "'", '"', " <<E\n", "\nE\n", " <<'E'\n", " <<-E\n",
    "case x in ", " x) ", ";;", " esac", "${x:-", "}", "${x#", " ", " ", "<<<", "<(", "[[ ",
    " ]]", "((", "))", "$((", "f() ", "f", "!", " for i in ", " do ", " done ", "while false",
    "$'", '$"', "\t", "x=", "=", "<", ">f ", "2>&1", "\\", "\\\\", "eval ", "sh -c ", "sh",
    "time ", "coproc ", "function ", "|&", "&>", "E", "exec ", "command ", "$V ", '"$@"', "trap ",
    "EXIT", "#", " #", "# \\\n", "\n#", "${#", "$#", "set -- ", "return ", "export ", "alias ",
    "read ", "{", "{}", "(a)", "x[", "$", "$\\\n", "&\\\n", ";&", "@(", "!(", "E\n", "echo ",
    "cat ", ". ", "/dev/stdin ",
]  # fmt: skip


LUMPS = st.one_of(
    st.sampled_from(SOUP),
    st.sampled_from(["rec ", "rec 10", "rec x"]),
    st.text("<>&|;()#$`\"'\\!*?[]{}=+-:%^,./ \n\t01aE", max_size=4),
)


@pytest.mark.parametrize("shell", SHELLS)
@settings(EXAMPLES, max_examples=400)
@given(pieces=st.lists(LUMPS, min_size=2, max_size=12))
def test_nothing_runs_that_the_guard_has_not_seen(
    shell: str, recorder: Recorder, pieces: list[str]
) -> None:
    """Whatever a shell makes of a text, each of its calls is seen, or a person is asked."""
    command = "".join(
        f"rec n{index} " if piece == "rec " else piece
        for index, piece in enumerate(["rec ", *pieces])
    )
    seen, reading = recorder.read(dialect_of(shell), f"V=rec; {command}")
    if reading.doubts or None in seen:
        return
    executed = recorder.executed(shell, f"V=rec; {command}")
    assert [call for call in executed if call not in seen] == [], (command, seen)


@settings(EXAMPLES, max_examples=200)
@given(pieces=st.lists(st.sampled_from([*SOUP, "rec ", "a", "b "]), min_size=1, max_size=10))
def test_a_text_that_is_read_once_for_sh_means_the_same_in_both_grammars(pieces: list[str]) -> None:
    """Where `sh` may be dash or bash, one parse is enough only if both would read alike."""
    text = "".join(pieces)
    if dialects("sh", text) != (Dialect.POSIX,):
        return
    posix = parsed(text, Dialect.POSIX)
    assert posix is None or parsed(text, Dialect.BASH) == posix


def parsed(text: str, dialect: Dialect) -> Block | None:
    """The tree, or None when the text is unreadable."""
    try:
        return SHFMT.parse(text, dialect)
    except Unreadable:
        return None


@settings(EXAMPLES, max_examples=200)
@given(text=st.text("abzAZ059_./:=@%+,- \t", max_size=30))
def test_plain_words_are_the_words_of_the_parser(text: str) -> None:
    """What is split without a parser is split as the parser does, in both grammars."""
    split = plain_words(text)
    if split is None:
        return
    for dialect in Dialect:
        block = parsed(text, dialect)
        assert block is not None
        assert len(block) == 1
        simple = block[0].command
        assert isinstance(simple, Simple)
        assert simple.assignments == ()
        assert [texts(word.parts) for word in simple.words] == split


def texts(parts: tuple[object, ...]) -> str:
    """The text of a word that holds nothing but text."""
    assert all(isinstance(part, Literal) for part in parts)
    return "".join(part.text for part in parts if isinstance(part, Literal))


NOT_PLAIN = [
    "if", "then x", "for i", "case x", "do", "done", "time ls", "function f", "export a=b",
    "local x", "declare -x a", "select x", "coproc ls", "let a=1", "a=b", "a=b c", "a=b=c",
    "ls *", "ls ~", "ls $x", "'a'", "a;b", "a&", "a\nb", "{ a", "! a", "[ a ]", "a #b", "a\\ b",
    "", " ", "a>b", "a{b,c}", "readonly x",
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    NOT_PLAIN,
)
def test_what_is_not_plain_goes_to_the_parser(text: str) -> None:
    """Words of the grammar, assignments and every special character."""
    assert plain_words(text) is None


def test_a_line_that_a_comment_swallows_in_the_parser_is_not_trusted(recorder: Recorder) -> None:
    """A backslash at the end of a comment joins lines for shfmt, but for no shell."""
    command = "rec a #\\\nrec b"
    for shell in SHELLS:
        assert recorder.executed(shell, command) == [["a"], ["b"]]
        assert recorder.read(dialect_of(shell), command)[1].doubts


@pytest.mark.parametrize(
    "command",
    [
        "rec a <&-/",
        "rec a 777>f /",
        "X=rec; $\\\nX a",
        "coproc x=. rec a",
        "rec `rec \\$x`",
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_what_the_parser_reads_unlike_a_shell_is_not_trusted(
    shell: str, recorder: Recorder, command: str
) -> None:
    """Each of these runs, in one shell or another, with other words than the parser finds."""
    executed = recorder.executed(shell, command)
    seen, reading = recorder.read(dialect_of(shell), command)
    assert reading.doubts or all(call in seen for call in executed)


@pytest.mark.parametrize(
    "words",
    [
        *("k=x=~", "k=a'b'x=~", "k==~", "x=~x=~", "k=~", "k=a:~", "k=a:~:~", "'k'=~", "k=''~"),
        *("k=~{}x=~", "k=x{}:~", "k=~/{}x", "k={a}~", "k=~{/a}", "k={1..1}~"),
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_home_directory_inside_an_argument_is_seen_or_known_to_be_unknown(
    shell: str, recorder: Recorder, words: str
) -> None:
    """Bash looks for it behind the first `=` of `NAME=`, and sometimes behind a later one."""
    executed = recorder.executed(shell, f"rec {words}")
    seen, _ = recorder.read(dialect_of(shell), f"rec {words}")
    assert seen in (executed, [None])


def test_the_recorder_can_tell_a_difference(recorder: Recorder) -> None:
    """The comparison would notice a call with other words."""
    assert recorder.executed("/bin/sh", "rec a 'b c' ''; rec") == [["a", "b c", ""], []]
    assert recorder.read(Dialect.POSIX, "rec a 'b c' ''; rec")[0] == [["a", "b c", ""], []]


@pytest.fixture(autouse=True)
def _nothing_left_behind(recorder: Recorder) -> None:
    assert {path.name for path in Path(recorder.folder).iterdir()} <= {"bin", "record", "room"}
