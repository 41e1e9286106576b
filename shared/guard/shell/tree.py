"""The syntax of a shell text, reduced to what decides which programs run with which words."""

from dataclasses import dataclass, replace
from typing import Literal as Choice

OPAQUE = "opaque"

ParameterUse = Choice["value", "length", "name", "prompt"]
"""What is done with the value of a parameter: `name` for `${!x}`, `prompt` for `${x@P}`."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands for itself; backslashes and quotes are already gone."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name` or `${name…}`.

    `operator` is "" for the plain value, `-`, `=`, `+` or `?` (with or without a colon) where
    `argument` may take its place, and OPAQUE for every operation whose result is not worked out,
    of which `inner` is what is expanded meanwhile, and `arithmetic` what is evaluated: subscripts
    and slices. `bare`: written without braces. `use`: what else is done with the value.
    """

    name: str
    quoted: bool
    operator: str = ""
    argument: "WordNode | None" = None
    inner: tuple["Part", ...] = ()
    bare: bool = False
    arithmetic: "Arithmetic | None" = None
    use: ParameterUse = "value"


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)` and backticks (`value`), or `<(…)` and `>(…)` (`file`)."""

    body: "Block"
    quoted: bool
    kind: Choice["value", "file"] = "value"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part whose value is not worked out; `number` for `$((…))`.

    `inner` is what is expanded meanwhile, `arithmetic` what is evaluated.
    """

    quoted: bool
    inner: tuple["Part", ...] = ()
    number: bool = False
    arithmetic: "Arithmetic | None" = None


Part = Literal | Parameter | Substitution | Opaque


def as_quoted(part: Part) -> Part:
    """The same part where it is neither split nor matched against file names."""
    match part:
        case Literal(text):
            return Literal(text, quoted=True)
        case Parameter():
            return replace(part, quoted=True)
        case Substitution(body, _, kind):
            return Substitution(body, True, kind)
        case Opaque():
            return replace(part, quoted=True)


@dataclass(frozen=True, slots=True)
class WordNode:
    """One word before expansion."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What a shell evaluates as arithmetic, in order: words, and the names that it sets."""

    steps: tuple[WordNode | str, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=value` before a command or alone; `plain` is False for `+=`, indices and arrays."""

    name: str
    value: WordNode
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection; `body` is the text of a heredoc or here-string."""

    operator: str
    target: WordNode
    descriptor: str = ""
    body: WordNode | None = None

    @property
    def appends(self) -> bool:
        """True when it keeps what the file holds."""
        return self.operator.endswith(">>")

    @property
    def takes_input(self) -> bool:
        """True when something is read through it."""
        return self.body is not None or self.operator.startswith("<")


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments and words, either of which may be missing."""

    assignments: tuple[Assignment, ...]
    words: tuple[WordNode, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages that run side by side, each one's output the next one's input."""

    stages: tuple["Statement", ...]


@dataclass(frozen=True, slots=True)
class AndOr:
    """`left && right` or `left || right`."""

    operator: Choice["&&", "||"]
    left: "Statement"
    right: "Statement"


@dataclass(frozen=True, slots=True)
class Group:
    """`{ … }`, or `( … )` when `apart`, whose changes to variables and directory are lost."""

    body: "Block"
    apart: bool = False


@dataclass(frozen=True, slots=True)
class If:
    """`if`; an `elif` is an `If` inside `otherwise`."""

    condition: "Block"
    then: "Block"
    otherwise: "Block"


@dataclass(frozen=True, slots=True)
class Loop:
    """`while` and `until` (`name` is empty), or `for` and `select` over `items` (None: `"$@"`).

    `arithmetic` stands in the head of `for ((…))`, which is `unbounded` without a condition;
    `until` tells it from `while`.
    """

    condition: "Block"
    body: "Block"
    name: str = ""
    items: tuple[WordNode, ...] | None = None
    arithmetic: Arithmetic | None = None
    until: bool = False
    unbounded: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """`case`: the words that are expanded, and the arms of which any may run."""

    words: tuple[WordNode, ...]
    arms: tuple["Block", ...]


@dataclass(frozen=True, slots=True)
class Function:
    """The definition of a function."""

    name: str
    body: "Statement"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`[[ … ]]`, `(( … ))` and `let`.

    `inner` is expanded, `arithmetic` evaluated, and `names` are those of variables, whose
    subscripts are evaluated as well (`[[ -v NAME ]]`).
    """

    inner: tuple[Part, ...]
    arithmetic: Arithmetic
    names: tuple[WordNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Apart:
    """A statement that runs as a coprocess."""

    statement: "Statement"


Command = Simple | Pipeline | AndOr | Group | If | Loop | Case | Function | Evaluation | Apart


@dataclass(frozen=True, slots=True)
class Statement:
    """A command with its redirections; `source` is its text as written."""

    command: Command | None
    redirects: tuple[Redirect, ...]
    background: bool
    source: str
    negated: bool = False


Block = tuple[Statement, ...]
