"""What is known of programs whose exit code does not depend on the host."""

import operator
import re
from collections.abc import Callable, Sequence

Words = Sequence[str | None]
"""The arguments of a program; None for one that is known only on the host."""

_ALWAYS = frozenset({
    *("true", ":", "echo", "printf", "pwd", "sleep", "wait", "break", "continue", "trap", "jobs"),
    *("export", "readonly", "local", "unset", "alias", "shift", "umask", "times"),
})  # fmt: skip
_FACTS = {
    "date": r"-u|-R|\+.*",
    "uname": r"-[a-z]+",
    "id": r"-[ugnGr]+",
    "ps": r"-?[aefuxwlA]+",
    "df": r"-[hHkmPTial]+",
    "free": r"-[hmgkbtw]+",
    "ls": r"-[A-Za-z1]+",
    "ss": r"-[tulnpaH46]+",
    **dict.fromkeys(("whoami", "hostname", "uptime", "nproc", "arch", "env", "w", "who"), r"(?!)"),
}
"""Programs that print a fact and end well, and the arguments with which they do."""

_READERS = frozenset({
    *("cat", "head", "tail", "wc", "sort", "uniq", "nl", "rev", "tac", "fold", "fmt", "column"),
    *("od", "xxd", "hexdump", "cut", "tr", "sed", "awk", "less", "more", "tee"),
})  # fmt: skip
"""Programs that end well when they read nothing but their input."""

_VALUED = {
    "head": "nc",
    "tail": "nc",
    "sort": "kt",
    "cut": "dfbc",
    "fold": "w",
    "awk": "Fv",
    "column": "ts",
    "nl": "bvwsi",
    "uniq": "fsw",
    "od": "ANtj",
}
"""The options of each that take the next word as their value."""

_SCRIPTED = {"sed": 1, "awk": 1, "tr": 2}
"""How many operands of these are not files."""

_CONSTANT_PATHS = frozenset({"/", ".", "./", "/.", "/dev/null"})
_STRINGS: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-gt": operator.gt,
    "-ge": operator.ge,
    "-lt": operator.lt,
    "-le": operator.le,
}
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_UNARY, _BINARY = 2, 3


def outcome_of_words(name: str, words: Words) -> bool | None:
    """Whether a program ends well with these arguments; None if that depends on the host."""
    if name in {"test", "[", "[["}:
        return constant_test(words if name == "test" else words[:-1])
    if name == "false":
        return False
    if name == "printf":
        return True if words else None
    if name == "wait" and words:
        return None
    if name in _ALWAYS or (name == "cd" and list(words) in (["/"], ["."])):
        return True
    if name in _FACTS:
        fits = re.compile(_FACTS[name])
        return True if all(w is not None and fits.fullmatch(w) for w in words) else None
    if name in _READERS:
        return True if _reads_input(name, words) else None
    return None


def without_wrapper(name: str, words: Words) -> tuple[str, list[str | None]] | None:
    """The program that a wrapper starts, with its arguments; None if it is not a plain wrapper.

    `sudo` is none: whether it may is a fact about the host.
    """
    rest = list(words)
    match name:
        case "command" | "builtin" | "exec" | "nohup" | "time":
            pass
        case "env":
            while rest and rest[0] is not None and re.match(r"[A-Za-z_]\w*=", rest[0]):
                rest.pop(0)
        case "timeout" if rest and rest[0] is not None and re.fullmatch(r"[\d.]+[smhd]?", rest[0]):
            rest.pop(0)
        case "nice" if rest[:1] == ["-n"]:
            rest = rest[2:]
        case _:
            return None
    program = rest[0] if rest else None
    return None if program is None or program.startswith("-") else (program, rest[1:])


def constant_test(words: Words) -> bool | None:
    """The result of `test` with these operands; None if it depends on the host."""
    for joined, decide in (("-o", any), ("-a", all)):
        if joined in words and len(words) > _BINARY:
            at = list(words).index(joined)
            sides = (constant_test(words[:at]), constant_test(words[at + 1 :]))
            if (joined == "-o") in sides:
                return joined == "-o"
            return None if None in sides else decide(map(bool, sides))
    if words and words[0] == "!" and len(words) > 1:
        inner = constant_test(words[1:])
        return None if inner is None else not inner
    match list(words):
        case []:
            return False
        case [str(one)]:
            return one != ""
        case [str(which), str(value)]:
            return _unary(which, value)
        case [str(left), str(which), str(right)]:
            return _binary(left, which, right)
        case _:
            return None


def _unary(which: str, value: str) -> bool | None:
    if which in {"-n", "-z"}:
        return (value != "") is (which == "-n")
    if which in {"-e", "-r"} and value in _CONSTANT_PATHS:
        return True
    return True if which == "-d" and value in _CONSTANT_PATHS - {"/dev/null"} else None


def _binary(left: str, which: str, right: str) -> bool | None:
    if which in _STRINGS:
        return _STRINGS[which](left, right)
    if which in _NUMBERS and _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right):
        return _NUMBERS[which](int(left), int(right))
    return None


def _reads_input(name: str, words: Words) -> bool:
    """Whether it is given no file, and no script that may end it otherwise."""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word is None:
            return False
        if word.startswith("-") and word != "-":
            if len(word) == _UNARY and word[1] in _VALUED.get(name, ""):
                next(rest, None)
            elif name in {"sed", "awk"} and re.match(r"-[ief]|--", word):
                return False
        elif word != "-":
            operands.append(word)
    scripts = _SCRIPTED.get(name, 0)
    return len(operands) <= scripts and not any(
        re.search(r"exit|[qQwWe]|getline|system|[|>]", script)
        for script in operands
        if name in {"sed", "awk"}
    )
