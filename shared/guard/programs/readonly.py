"""Small programs inside arguments that certainly only read: awk, sed, jq."""

import re

_AWK_REACHES_OUT = re.compile(
    r"system|getline|close|fflush|ENVIRON|ARGV|PROCINFO|SYMTAB|FUNCTAB|@|\|&|printf?\b.*[>|]",
    re.DOTALL,
)
_JQ_REACHES_OUT = re.compile(
    # blanks and comments may stand between `$` and a name
    r"\b(?:env|ENV)\b|\binclude\b|\bimport\b|\bmodulemeta\b|\bget_search_list\b|\binput_filename\b"
    r"|\$\s*__"
)
_AWK_ENDLESS = re.compile(r"while\s*\(\s*(?:!0|[1-9]\d*|\"[^\"]+\")\s*\)|for\s*\([^;)]*;\s*;")
_AWK_LEAVES = re.compile(r"\b(?:break|exit|return)\b")
_JQ_ENDLESS = re.compile(
    r"\brepeat\b|\binfinite\b|\b(?:range|limit|until|while)\s*\([^)]*(?:\d{8,}|\de\d|\btrue\b|\bfalse\b)"
    r"|\*\s*(?:\d{8,}|\d+e\d)|\bdef\s+(\w+)\s*:\s*\1\b"
)
_AWK_DOUBLES = re.compile(
    r"\b(\w+)\s*=\s*\(?\s*\1\s*(?:\"[^\"]*\"\s*)?\b\1\b|\bg?g?sub\s*\([^;]*&[^;]*&"
)
_JQ_TURNS = re.compile(r"\b(?:reduce|foreach|recurse|while|until|range|limit|last)\b")
_JQ_DOUBLES = re.compile(r"(?<![\w\])\"])\.\s*[+*]\s*(?:\.(?![\w\[\"])|\d)")
_YQ_REACHES_OUT = re.compile(r"load|env|eval|system|\bfile")
_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SED_START = re.compile(rf"[ \t;\n]*(?:{_SED_ADDRESS}(?:,[+~]?{_SED_ADDRESS})?)?[ \t]*!?[ \t]*")
_SED_PLAIN = re.compile(r"[dDpPnNhHgGx=](?=[ \t]*(?:[;}\n]|$))|q[ \t]*\d*(?=[ \t]*(?:[;\n]|$))")
_SED_FLAGS = re.compile(r"[gpiIm0-9]*(?=[ \t]*(?:[;}\n]|$))")
_SED_TEXT = re.compile(r"[aic](?:[ \t]*\\\n?|[ \t]+)[^\n\\]*(?:\n|$)")


def awk_only_looks(program: str) -> bool:
    """Check whether an awk program can neither run nor open anything, ends and stays small."""
    if _AWK_ENDLESS.search(program) and not _AWK_LEAVES.search(program):
        return False
    if _AWK_DOUBLES.search(program):
        return False
    return "\\\n" not in program and _AWK_REACHES_OUT.search(program) is None


def jq_only_looks(program: str) -> bool:
    """Check whether a jq program reads its input alone, ends and stays small."""
    if _JQ_TURNS.search(program) and _JQ_DOUBLES.search(program):
        return False
    return not (_JQ_REACHES_OUT.search(program) or _JQ_ENDLESS.search(program))


def sed_only_edits(script: str) -> bool:
    """Check whether a sed script is made of commands that touch nothing but the text."""
    position = 0
    depth = 0
    while position < len(script):
        start = _SED_START.match(script, position)
        position = start.end() if start else position
        if position >= len(script):
            break
        sign = script[position]
        if sign in "{}":
            depth += 1 if sign == "{" else -1
            position += 1
            continue
        end = _sed_command(script, position)
        if end is None:
            return False
        position = end
    return depth == 0


def _sed_command(script: str, position: int) -> int | None:
    """Where the command that begins there ends; None when it is not a known harmless one."""
    if script[position] in "sy":
        end = _sed_replacement(script, position)
        flags = None if end is None else _SED_FLAGS.match(script, end)
        return flags.end() if flags else None
    for form in (_SED_PLAIN, _SED_TEXT):
        if found := form.match(script, position):
            return found.end()
    return None


def _sed_replacement(script: str, position: int) -> int | None:
    if position + 1 >= len(script):
        return None
    delimiter = script[position + 1]
    if delimiter in "\\\n" or delimiter.isalnum():
        return None
    position += 2
    for _ in range(2):
        while position < len(script) and script[position] != delimiter:
            if (
                script[position] == "["
                and delimiter != "["
                and not _bracket_is_plain(script, position, delimiter)
            ):
                return None
            position += 2 if script[position] == "\\" else 1
        if position >= len(script):
            return None
        position += 1
    return position


def _bracket_is_plain(script: str, position: int, delimiter: str) -> bool:
    """False when a bracket holds the delimiter: implementations differ on where it ends."""
    end = script.find("]", position + 2)
    return end == -1 or delimiter not in script[position:end]


def yq_only_looks(program: str) -> bool:
    """Check whether a yq program reads its input alone."""
    return jq_only_looks(program) and _YQ_REACHES_OUT.search(program) is None
