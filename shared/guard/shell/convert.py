"""Converts shfmt's JSON to the tree of `tree.py`; refuses every unknown node."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from shared.guard.shell.nodes import Node, set_name, tested_words, use_of_parameter
from shared.guard.shell.quoting import ansi_c, double_quote, heredoc, unquoted_pieces
from shared.guard.shell.tree import (
    OPAQUE,
    AndOr,
    Apart,
    Arithmetic,
    Assignment,
    Block,
    Case,
    Command,
    Evaluation,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Opaque,
    Parameter,
    Part,
    Pipeline,
    Redirect,
    Simple,
    Statement,
    Substitution,
    WordNode,
    as_quoted,
)

MOST_STATEMENTS = 2000
_DEFAULT_OPERATORS = frozenset({"-", ":-", "+", ":+", "=", ":=", "?", ":?"})
_END_OF_OPTIONS = (WordNode((Literal("--", quoted=False),)),)
_EXPANSIONS = frozenset({"CmdSubst", "ProcSubst", "ParamExp", "ArithmExp"})
_NUMBER_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_NAME_TESTS = frozenset({"-v", "-R"})
_SETTING = frozenset(
    {"=", *(f"{sign}=" for sign in ("+", "-", "*", "/", "%", "&", "|", "^")), "<<=", ">>="}
)
_PARAMETER_KEYS = frozenset({"Type", "Pos", "End", "Dollar", "Rbrace", "Short", "Param", "Exp"})


class Unreadable(ValueError):
    """The text cannot be read as shell, or not safely; the message says why."""


class Conversion:
    """One tree from one parse of `source`; `posix` where a shell knows no more than POSIX."""

    def __init__(self, source: bytes, *, posix: bool) -> None:
        self._posix = posix
        self._bytes = source
        self._statements = 0

    def block(self, nodes: list[Node] | None) -> Block:
        """A list of statements; raises Unreadable."""
        return tuple(self._statement(node) for node in nodes or ())

    def _statement(self, node: Node) -> Statement:
        self._statements += 1
        if self._statements > MOST_STATEMENTS:
            raise Unreadable(f"it has more than {MOST_STATEMENTS} statements")
        if node.get("Coprocess") or node.get("Disown"):
            raise Unreadable("it uses a form of another shell")
        command = node.get("Cmd")
        return Statement(
            command=self._command(command) if command else None,
            redirects=tuple(self._redirect(item) for item in node.get("Redirs") or ()),
            background=bool(node.get("Background")),
            source=self._source(node),
            negated=bool(node.get("Negated")),
        )

    def _source(self, node: Node) -> str:
        start, end = node["Pos"]["Offset"], node["End"]["Offset"]
        return self._bytes[start:end].decode("utf-8", "replace")

    def _command(self, node: Node) -> Command:
        understood: dict[str, Callable[[Node], Command]] = {
            "CallExpr": self._call,
            "DeclClause": self._declaration,
            "BinaryCmd": self._binary,
            "Block": self._group,
            "Subshell": self._group,
            "IfClause": self._if,
            "WhileClause": self._while,
            "ForClause": self._for,
            "CaseClause": self._case,
            "FuncDecl": self._function,
            "TestClause": self._evaluation,
            "ArithmCmd": self._evaluation,
            "LetClause": self._evaluation,
            "TimeClause": self._time_clause,
            "CoprocClause": self._coprocess,
        }
        kind = node["Type"]
        if kind not in understood:
            raise Unreadable(f"it uses a form that is not understood ({kind})")
        return understood[kind](node)

    def _group(self, node: Node) -> Group:
        return Group(self.block(node.get("Stmts")), apart=node["Type"] == "Subshell")

    def _while(self, node: Node) -> Loop:
        until = bool(node.get("Until"))
        return Loop(self.block(node.get("Cond")), self.block(node.get("Do")), until=until)

    def _function(self, node: Node) -> Function:
        return Function(node["Name"]["Value"], self._statement(node["Body"]))

    def _evaluation(self, node: Node) -> Evaluation:
        if node["Type"] != "TestClause":
            return Evaluation((), self._arithmetic(node.get("X"), *(node.get("Exprs") or ())))
        expanded, evaluated, names = [], [], []
        for operator, word in tested_words(node["X"]):
            if operator in _NUMBER_TESTS:
                evaluated.append(self.word(word))
            elif operator in _NAME_TESTS:
                names.append(self.word(word))
            else:
                expanded.append(word)
        return Evaluation(self._inner(expanded), Arithmetic(tuple(evaluated)), tuple(names))

    def _arithmetic(self, *nodes: Node | None) -> Arithmetic:
        """What is evaluated in expressions, one after the other; raises Unreadable."""
        return Arithmetic(tuple(step for node in nodes if node for step in self._steps(node)))

    def _steps(self, node: Node) -> Iterator[WordNode | str]:
        match node["Type"]:
            case "Word":
                yield self.word(node)
            case "ParenArithm":
                yield from self._steps(node["X"])
            case "UnaryArithm":
                yield from self._steps(node["X"])
                if node["Op"] in ("++", "--"):
                    yield from set_name(node["X"])
            case "BinaryArithm" if node["Op"] in _SETTING:
                if node["Op"] != "=" or not any(set_name(node["X"])):
                    yield from self._steps(node["X"])
                yield from self._steps(node["Y"])
                yield from set_name(node["X"])
            case "BinaryArithm":
                yield from self._steps(node["X"])
                yield from self._steps(node["Y"])
            case unknown:
                raise Unreadable(f"it uses a form of arithmetic that is not understood ({unknown})")

    def _coprocess(self, node: Node) -> Apart:
        return Apart(self._statement(node["Stmt"]))

    def _call(self, node: Node) -> Simple:
        assignments = tuple(self._assignment(item) for item in node.get("Assigns") or ())
        return Simple(assignments, tuple(self.word(item) for item in node.get("Args") or ()))

    def _declaration(self, node: Node) -> Simple:
        words = [WordNode((Literal(node["Variant"]["Value"], quoted=False),))]
        for item in node.get("Args") or ():
            if item.get("Naked") and item.get("Value"):
                words.append(self.word(item["Value"]))
            elif item.get("Naked"):
                words.append(WordNode((Literal(item["Name"]["Value"], quoted=True),)))
            else:
                assigned = self._assignment(item)
                name = Literal(f"{assigned.name}=", quoted=True)
                # a declaration's value is not split into words
                words.append(WordNode((name, *map(as_quoted, assigned.value.parts))))
        return Simple((), tuple(words))

    def _assignment(self, node: Node) -> Assignment:
        value = self.word(node["Value"]) if node.get("Value") else WordNode(())
        plain = not (node.get("Append") or node.get("Index") or node.get("Array"))
        if not plain:
            elements = (node.get("Array") or {}).get("Elems") or ()
            indices = self._arithmetic(node.get("Index"), *(each.get("Index") for each in elements))
            inner = self._inner([node.get("Value"), *(each.get("Value") for each in elements)])
            value = WordNode((Opaque(quoted=True, inner=inner, arithmetic=indices),))
        return Assignment(node["Name"]["Value"], value, plain)

    def _binary(self, node: Node) -> Command:
        left, right = self._statement(node["X"]), self._statement(node["Y"])
        match node["Op"]:
            case "|" | "|&":
                stages = [left]
                if isinstance(left.command, Pipeline) and not left.redirects:
                    stages = list(left.command.stages)
                return Pipeline((*stages, right))
            case "&&" | "||" as operator:
                return AndOr(operator, left, right)
            case unknown:
                raise Unreadable(f"it uses an operator that is not understood ({unknown})")

    def _if(self, node: Node) -> If:
        otherwise: Block = ()
        if following := node.get("Else"):
            if following.get("Cond"):
                nested = self._if(following)
                otherwise = (Statement(nested, (), background=False, source=""),)
            else:
                otherwise = self.block(following.get("Then"))
        return If(self.block(node.get("Cond")), self.block(node.get("Then")), otherwise)

    def _for(self, node: Node) -> Loop:
        loop, body = node["Loop"], self.block(node.get("Do"))
        if loop["Type"] == "CStyleLoop":
            head = self._arithmetic(*(loop.get(part) for part in ("Init", "Cond", "Post")))
            return Loop((), body, arithmetic=head, unbounded=loop.get("Cond") is None)
        given = loop.get("Items")
        if given is None and loop.get("InPos"):
            given = []
        items = None if given is None else tuple(self.word(item) for item in given)
        return Loop((), body, loop["Name"]["Value"], items)

    def _time_clause(self, node: Node) -> Group:
        inside = node.get("Stmt")
        if inside is None:
            return Group(())
        statement = self._statement(inside)
        simple = statement.command
        if isinstance(simple, Simple) and simple.words[:1] == _END_OF_OPTIONS:
            statement = replace(statement, command=replace(simple, words=simple.words[1:]))
        return Group((statement,))

    def _case(self, node: Node) -> Case:
        arms = node.get("Items") or ()
        words = [self.word(node["Word"])]
        words += [self.word(word) for arm in arms for word in arm.get("Patterns") or ()]
        return Case(tuple(words), tuple(self.block(arm.get("Stmts")) for arm in arms))

    def _redirect(self, node: Node) -> Redirect:
        body = None
        if found := node.get("Hdoc"):
            body = self._heredoc(found, node)
        elif node["Op"] == "<<<":
            body = self.word(node["Word"])
        elif node["Op"] in ("<<", "<<-"):
            body = WordNode(())
        descriptor = (node.get("N") or {}).get("Value", "")
        target = self.word(node["Word"])
        if self._posix and descriptor.isdigit() and len(descriptor) > 1:
            raise Unreadable(f"{descriptor} is a descriptor in some shells, in others an argument")
        if node["Op"] in ("<&", ">&") and not _names_one_thing(target):
            raise Unreadable("some shells read what follows `&-` as a separate word")
        return Redirect(node["Op"], target, descriptor, body)

    def _heredoc(self, node: Node, redirect: Node) -> WordNode:
        delimiter = redirect["Word"].get("Parts") or ()
        literal = any(
            item["Type"] in ("SglQuoted", "DblQuoted") or "\\" in item.get("Value", "")
            for item in delimiter
        )
        parts: list[Part] = []
        line_start = True
        for item in node.get("Parts") or ():
            if item["Type"] == "Lit":
                text: str = item.get("Value", "")
                if redirect["Op"] == "<<-":
                    text = _without_tabs(text, line_start=line_start)
                parts.append(Literal(text if literal else heredoc(text), quoted=True))
                line_start = text.endswith("\n")
            else:
                parts.append(as_quoted(self._part(item, quoted=True)))
                line_start = False
        return WordNode(tuple(parts))

    def word(self, node: Node) -> WordNode:
        """One word; raises Unreadable."""
        parts: list[Part] = []
        for item in node.get("Parts") or ():
            match item["Type"]:
                case "Lit":
                    pieces = unquoted_pieces(item.get("Value", ""))
                    parts += [Literal(text, quoted=quoted) for text, quoted in pieces]
                case "SglQuoted":
                    text = item.get("Value", "")
                    text = ansi_c(text) if item.get("Dollar") else text
                    parts.append(Literal(text, quoted=True))
                case "DblQuoted":
                    parts += self._double_quotes(item)
                case _:
                    parts.append(self._part(item, quoted=False))
        return WordNode(tuple(parts))

    def _double_quotes(self, node: Node) -> list[Part]:
        parts: list[Part] = []
        if not node.get("Parts"):
            return [Literal("", quoted=True)]  # "" is a word of its own
        for item in node["Parts"]:
            if item["Type"] == "Lit":
                parts.append(Literal(double_quote(item.get("Value", "")), quoted=True))
            else:
                parts.append(self._part(item, quoted=True))
        return parts

    def _part(self, node: Node, *, quoted: bool) -> Part:
        match node["Type"]:
            case "ParamExp":
                return self._parameter(node, quoted=quoted)
            case "CmdSubst" | "ProcSubst":
                return self._substitution(node, quoted=quoted)
            case "ArithmExp":
                return Opaque(quoted, number=True, arithmetic=self._arithmetic(node.get("X")))
            case "ExtGlob":
                if "$" in node["Pattern"]["Value"] or "`" in node["Pattern"]["Value"]:
                    raise Unreadable("it computes a pattern")
                return Opaque(quoted)
            case unknown:
                raise Unreadable(f"it uses a form that is not understood ({unknown})")

    def _substitution(self, node: Node, *, quoted: bool) -> Substitution:
        if node.get("Backquotes") and "\\" in self._source(node):
            raise Unreadable("it has a backslash inside backticks, which shells read differently")
        body = self.block(node.get("Stmts"))
        return Substitution(body, quoted, "file" if node["Type"] == "ProcSubst" else "value")

    def _parameter(self, node: Node, *, quoted: bool) -> Parameter:
        name = (node.get("Param") or {}).get("Value", "")
        expansion = node.get("Exp")
        if any(value for key, value in node.items() if key not in _PARAMETER_KEYS):
            slice_of = node.get("Slice") or {}
            evaluated = (node.get("Index"), slice_of.get("Offset"), slice_of.get("Length"))
            return Parameter(
                name,
                quoted,
                OPAQUE,
                inner=self._inner([node.get("Repl"), expansion]),
                arithmetic=self._arithmetic(*evaluated),
                use=use_of_parameter(node),
            )
        if not expansion:
            return Parameter(name, quoted, bare=bool(node.get("Short")))
        word = expansion.get("Word")
        if expansion["Op"] not in _DEFAULT_OPERATORS:
            use = use_of_parameter(node)
            return Parameter(name, quoted, OPAQUE, inner=self._inner(expansion), use=use)
        argument = self.word(word) if word else WordNode(())
        return Parameter(name, quoted, expansion["Op"].lstrip(":"), argument)

    def _inner(self, node: object) -> tuple[Part, ...]:
        """Every expansion below, outermost first: whatever the rest means, these happen."""
        return tuple(self._expansions(node))

    def _expansions(self, node: object) -> Iterator[Part]:
        if isinstance(node, list):
            for item in node:
                yield from self._expansions(item)
        elif isinstance(node, dict):
            if node.get("Type") in _EXPANSIONS:
                yield self._part(node, quoted=True)
                return
            for value in node.values():
                yield from self._expansions(value)


def _names_one_thing(target: WordNode) -> bool:
    """False for `-x`: bash closes the descriptor and takes `x` as an argument."""
    first = target.parts[0] if target.parts else None
    return not (isinstance(first, Literal) and first.text.startswith("-")) or (
        first.text == "-" and len(target.parts) == 1
    )


def _without_tabs(text: str, *, line_start: bool) -> str:
    stripped = re.sub(r"(?<=\n)\t+", "", text)
    return stripped.lstrip("\t") if line_start else stripped
