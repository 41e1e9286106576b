"""No code branches on a sentence: what it asks for is a value, words are for people."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("orchestrator", "workers", "shared")

PROSE: Final = frozenset(
    {"reason", "note", "message", "told", "said", "ended", "unknown", "summary", "explanation"}
)
"""Fields of our values that hold words for people."""

PATTERNS: Final = frozenset({"search", "match", "fullmatch", "finditer", "findall"})
READERS: Final = PATTERNS | {
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition",
    "split", "rsplit", "find", "rfind", "index", "rindex", "count",
}  # fmt: skip
"""Methods that tell what a text says."""

SAME_TEXT: Final = frozenset({"lower", "upper", "casefold", "strip", "lstrip", "rstrip"})
"""Methods after which a text still says the same."""

ALLOWED: Final = {
    # A request is told from another by the operator's own words: whatever they are.
    "orchestrator/core/overtaken_rules.py": {"step.note == fact.note"},
    # The markers between which the diagrams stand in a document.
    "orchestrator/core/diagram.py": {"document.partition(BEGIN)", "rest.partition(END)"},
    # What libraries of others say of their errors, which they say in no other way.
    "workers/shells/remote/pool.py": {"'Unable to open channel' in str(error)"},
    "workers/shells/remote/transport.py": {"'host key' in str(error)"},
    "shared/queue/replies.py": {"str(error).rpartition(_OF_PIPELINE)"},
    "workers/llm/chat_completions.py": {"word in named"},
    # The words of a file of others.
    "workers/deliveries/gates/configurations.py": {"kept[-1:] == ['dependencies {']"},
    # What programs of others say of their ends, which they say in no other way.
    "workers/agents/runners/claude_code.py": {
        "'No conversation found' in text",
        "'already in use' in text",
    },
    "workers/agents/runners/codex.py": {"_CONTEXT in message", "_NO_SESSION in text"},
}
"""Path: the expressions in it that may read a text."""

FOREIGN: Final = (
    "shared/guard/",  # the texts of commands
    "shared/secrets/",  # output, and the texts of commands
    "workers/shells/corrections/",  # the output of programs
    "workers/evidence/failed_assumptions.py",  # likewise
    "workers/evidence/answers.py",  # likewise
    "workers/evidence/machine.py",  # likewise
)
"""Where sentences are those of other programs; fields of our values are not read there either."""


def _is_sentence(node: ast.expr | None) -> bool:
    """Whether it is a text of several words, or holds one; of a table its values."""
    match node:
        case ast.Constant(value=str(text)):
            return len(text.split()) > 1
        case ast.Dict(values=parts) | ast.JoinedStr(values=parts):
            return any(map(_is_sentence, parts))
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return any(map(_is_sentence, parts))
        case ast.Call(args=parts):
            return any(map(_is_sentence, parts))
    return False


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def sentences(tree: ast.Module) -> frozenset[str]:
    """The constants of a module that hold sentences; those that are tables end with brackets."""
    return frozenset(
        f"{name}[]" if isinstance(value, ast.Dict) else name
        for name, value in _constants(tree)
        if _is_sentence(value)
    )


def _imported(tree: ast.Module, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Those constants of other modules that a module imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module in known:
            names = {alias.name: alias.asname or alias.name for alias in node.names}
            theirs = known[node.module]
            found |= {here for name, here in names.items() if name in theirs}
            found |= {f"{here}[]" for name, here in names.items() if f"{name}[]" in theirs}
    return frozenset(found)


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == ""


def _parts(node: ast.expr) -> Sequence[ast.expr]:
    """What a text is put together from."""
    match node:
        case ast.Call(func=ast.Attribute(attr="join"), args=parts):
            return parts
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.JoinedStr(values=parts):
            return [part.value for part in parts if isinstance(part, ast.FormattedValue)]
        case ast.BinOp(left=left, right=right):
            return left, right
        case ast.GeneratorExp(elt=part) | ast.NamedExpr(value=part):
            return (part,)
    return ()


class _Reader(ast.NodeVisitor):
    """Finds expressions that ask what a text for people says.

    A local name that is given such a text is one, too, and what a function of the module makes of
    it.
    """

    def __init__(self, sentences: frozenset[str], *, foreign: bool) -> None:
        self.found: list[str] = []
        self._sentences = sentences
        self._foreign = foreign
        self._local: frozenset[str] = frozenset()
        self._makers: frozenset[str] = frozenset()

    def note_makers(self, tree: ast.Module) -> None:
        """Learn which functions return what they made of a text for people."""
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                returned = (n.value for n in ast.walk(function) if isinstance(n, ast.Return))
                if any(value is not None and self._is_prose(value) for value in returned):
                    self._makers |= {function.name}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        before = self._local
        for inner in ast.walk(node):
            if isinstance(inner, ast.Assign) and self._is_prose(inner.value):
                named = {t.id for t in inner.targets if isinstance(t, ast.Name)}
                self._local |= named
        self.generic_visit(node)
        self._local = before

    def visit_Compare(self, node: ast.Compare) -> None:
        compared = (node.left, *node.comparators)
        for operator, left, right in zip(node.ops, compared, compared[1:], strict=False):
            if isinstance(operator, ast.Eq | ast.NotEq):
                self._note(node, (left, right), empty=_is_empty(left) or _is_empty(right))
            elif isinstance(operator, ast.In | ast.NotIn):
                self._note(node, (left, right))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
            # What stands in a pattern is most often the sentence of another program.
            read = (node.func.value, *node.args)
            self._note(node, read, pattern=node.func.attr in PATTERNS)
        self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> None:
        if self._is_prose(node.subject):
            self.found.append(f"match {ast.unparse(node.subject)}")
        self.generic_visit(node)

    def _note(
        self,
        node: ast.expr,
        parts: tuple[ast.expr, ...],
        *,
        empty: bool = False,
        pattern: bool = False,
    ) -> None:
        of_values = any(map(self._is_prose, parts)) and not empty
        of_words = not self._foreign and not pattern and any(map(self._is_words, parts))
        if of_values or of_words:
            self.found.append(ast.unparse(node))

    def _is_prose(self, node: ast.expr) -> bool:
        match node:
            case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name)):
                return name in PROSE
            case ast.Name(id=name):
                return name in self._local
            case ast.Call(func=ast.Name(id=name)):
                return name in self._makers
            case ast.Call(func=ast.Attribute(value=whole, attr=name)) if name in SAME_TEXT:
                return self._is_prose(whole)
        return any(map(self._is_prose, _parts(node)))

    def _is_words(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self._sentences
            case ast.Subscript(value=ast.Name(id=name)):
                return f"{name}[]" in self._sentences
            case ast.Call():
                return False
        return _is_sentence(node)


def reads(tree: ast.Module, path: str = "", imported: frozenset[str] = frozenset()) -> list[str]:
    """The expressions of a module that ask what a text for people says."""
    reader = _Reader(imported | sentences(tree), foreign=path.startswith(FOREIGN))
    reader.note_makers(tree)
    reader.visit(tree)
    return reader.found


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def test_no_code_branches_on_prose() -> None:
    trees = dict(_modules())
    assert len(trees) > 300
    known = {
        path.removesuffix(".py").replace("/", "."): sentences(tree) for path, tree in trees.items()
    }
    assert "SAID[]" in known["shared.domain.attempt"]
    found = {path: reads(tree, path, _imported(tree, known)) for path, tree in trees.items()}
    assert {path: set(reading) for path, reading in found.items() if reading} == ALLOWED


@pytest.mark.parametrize(
    "example",
    [
        "if last.reason.endswith(SAID[Answer.RAN]): pass",
        "if not attempt.reason.startswith(ENDED_BY_OPERATOR): pass",
        "remains = told.partition(LEFT_OVER)[2].strip()",
        "how = attempt.reason.removeprefix('rollback: ')",
        "if reason.startswith('dry run: '): pass",
        "if note.startswith('Asked: the person'): pass",
        "told = attempt.reason if attempt.reason == SAID[Answer.RAN] else ''",
        "if 'left over' in line.reason: pass",
        "if 'left over' in view: pass",
        "if words.search(attempt.reason): pass",
        "if body['reason'].lower() == 'cancelled': pass",
        "match result.ended:\n    case 'ended by TERM': pass",
        "def f(attempt):\n    why = attempt.reason\n    return why == 'killed'",
        "def f(a, b):\n    both = f'{a.reason}: {b}'\n    return both.find('x') > 0",
        "def g(a):\n    return '\\n'.join((a.reason, a.text))\nif words.search(g(a)): pass",
        "if (why := attempt.reason).startswith('x'): pass",
        "name = source if source != 'the plan' else 'FILE'",
    ],
)
def test_what_reads_prose_is_found(example: str) -> None:
    """Among them what the code did before its reasons were values."""
    constants = frozenset({"SAID[]", "ENDED_BY_OPERATOR", "LEFT_OVER"})
    assert reads(ast.parse(example), "workers/passes/history.py", constants)


@pytest.mark.parametrize(
    "example",
    [
        "if attempt.told_by_person is Answer.RAN: pass",
        "if step.reason: pass",
        "if step.reason == '': pass",
        "why = f': {fact.note}' if fact.note else ''",
        "if text.startswith('~/'): pass",
        "if found.ended is None: pass",
        "if re.search('no such file', output): pass",
    ],
)
def test_what_reads_values_or_other_programs_is_not_meant(example: str) -> None:
    assert reads(ast.parse(example)) == []
