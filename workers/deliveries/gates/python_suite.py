"""What a test file in Python holds, read from its syntax tree."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from workers.deliveries.gates.suites import Case, Suite

_ASSERTING: Final = ("assert", "expect", "verify", "should", "raises", "warns", "fail")
"""How the names of functions begin that fail a test."""

_SKIPPING: Final = ("skip", "xfail", "importorskip", "expectedfailure")
_COLLECTING: Final = frozenset(
    {
        *("collect_ignore", "collect_ignore_glob", "pytest_collection_modifyitems"),
        *("pytest_ignore_collect", "pytest_runtest_setup", "pytest_runtest_makereport"),
        *("pytest_runtest_call", "pytest_pyfunc_call", "pytest_sessionfinish", "__test__"),
        *("pytest_runtest_protocol", "pytest_collect_file"),
    }
)
"""Names whose definition decides which tests run, and what comes of them."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def read_python(text: str) -> Suite | None:
    """See `Read`."""
    try:
        return _suite(ast.parse(text), text.splitlines())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _suite(tree: ast.Module, lines: Sequence[str]) -> Suite:
    cases: dict[str, Case] = {}
    times: Counter[str] = Counter()
    for place, function in _tests(tree, ""):
        times[place] += 1
        name = place if times[place] == 1 else f"{place}#{times[place]}"
        cases[name] = Case(_assertions(ast.walk(function)), _body(function, lines))
    nodes = list(ast.walk(tree))
    return Suite(cases, _assertions(nodes), _skips(nodes), _shutouts(nodes))


def _tests(node: ast.AST, place: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            if child.name.startswith("test"):
                yield f"{place}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _tests(child, f"{place}{child.name}.")
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from _tests(child, place)


def _body(function: Function, lines: Sequence[str]) -> str:
    """The text of its body, however it is indented."""
    first, last = function.body[0].lineno - 1, function.end_lineno
    return " ".join(word for line in lines[first:last] for word in line.split())


def _assertions(nodes: Iterable[ast.AST]) -> int:
    return sum(map(_asserts, nodes))


def _asserts(node: ast.AST) -> bool:
    match node:
        case ast.Assert(test=test):
            return not _is_idle(test)
        case ast.Call(func=function, args=arguments):
            called = _name(function).lower().lstrip("_")
            return called.startswith(_ASSERTING) and not (
                arguments and all(isinstance(each, ast.Constant) for each in arguments)
            )
    return False


def _is_idle(test: ast.expr) -> bool:
    """Whether a condition always holds: constants alone, or something compared with itself."""
    match test:
        case ast.Compare(left=left, comparators=[right]) if ast.dump(left) == ast.dump(right):
            return True
        case ast.BoolOp(op=ast.Or(), values=values) if any(map(_is_true, values)):
            return True
        case ast.Tuple(elts=parts):
            return bool(parts)
    return not any(
        isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Await) for node in ast.walk(test)
    )


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _skips(nodes: Iterable[ast.AST]) -> int:
    """The marks that skip: a mark stands in one name, whether it is called or not."""
    names = (_name(node) for node in nodes if isinstance(node, ast.Attribute | ast.Name))
    return sum(name.lower().startswith(_SKIPPING) for name in names)


def _shutouts(nodes: Iterable[ast.AST]) -> int:
    return sum(map(_defines, nodes))


def _defines(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
            return name in _COLLECTING
    return False


def _name(node: ast.expr) -> str:
    match node:
        case ast.Call(func=function):
            return _name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
