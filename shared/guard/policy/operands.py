"""The kinds of operands and values that a policy can name, and what each one refuses."""

import re
from collections.abc import Callable
from functools import lru_cache

from shared.guard.paths import canonical
from shared.guard.policy import configure_kinds
from shared.guard.policy.addresses import states, unreachable
from shared.guard.policy.forms import FORMS, made_of, of_form
from shared.guard.policy.ground import Ground, Kind
from shared.guard.policy.literal_kinds import below, exactly
from shared.guard.policy.named import NAMED
from shared.guard.policy.notation import quoted_words
from shared.guard.policy.territory import Territory
from shared.guard.programs.mongo_looks import mongo_only_looks
from shared.guard.programs.readonly import (
    awk_only_looks,
    jq_only_looks,
    sed_only_edits,
    yq_only_looks,
)
from shared.guard.programs.sql import DIALECTS, SqlDialect
from shared.guard.programs.sql_looks import sql_only_counts, sql_only_looks
from shared.guard.words import Word, literal_word

REST = "rest"
"""The rest of the words is for a program that is judged as a whole."""
COMMAND = "command"
"""The rest of the words is a separate command, which is judged by itself."""
COPY = "copy-of-it"
"""The operand before it, with an ending that says that it is a copy."""
EXEC = "exec"
"""The value extends to `;` or `{} +`, like that of `find -exec`."""


def _program(language: str, harmless: Callable[[str], bool]) -> Kind:
    def kind(word: Word, ground: Ground) -> str | None:
        del ground
        text = word.literal
        if text is None:
            return f"the {language} that it runs is known only when it runs"
        return None if harmless(text) else f"the {language} may do more than read: {text[:80]}"

    return kind


def _in_dialect(dialect: SqlDialect) -> Callable[[str], bool]:
    return lambda text: sql_only_looks(text, dialect)


def _place(ask: Callable[[Territory, Word, tuple[Word, ...]], str | None]) -> Kind:
    def kind(word: Word, ground: Ground) -> str | None:
        if word.literal == "-":
            return None
        return ask(ground.territory, word, ground.directories)

    return kind


_EVERY_NAME = re.compile(r"\*(\.[A-Za-z0-9]+)?")


def no_writing(word: Word, ground: Ground) -> str | None:
    """Why a file may not be written, or None: a usual place, or configuration that was read."""
    changing = ground.changing
    paths = {canonical(word, directory).literal or "" for directory in ground.directories}
    if changing.placed and paths <= changing.placed:
        return None
    why = _place(Territory.no_write)(word, ground)
    refused = (changing.refused.get(path) for path in paths) if why else ()
    return next((told for told in refused if told), why)


def _copy_source(word: Word, ground: Ground) -> str | None:
    name = str(word).rstrip("/").rpartition("/")[2]
    if name.startswith((".", "[")):
        return f"{word} would bring a name that begins with a dot"
    return ground.territory.no_read(_one_of(word, name), ground.directories)


def _one_of(word: Word, name: str) -> Word:
    """One of the files that a pattern for all names stands for: a copy of each keeps its name."""
    found = _EVERY_NAME.fullmatch(name)
    if found is None or word.unknown:
        return word
    return literal_word(f"{word.with_placeholder('')[: -len(name)]}x{found[1] or ''}")


def _copied_tree(word: Word, ground: Ground) -> str | None:
    one = _one_of(word, str(word).rpartition("/")[2])
    return _copy_source(word, ground) or ground.territory.no_reading_below(one, ground.directories)


def _move_source(word: Word, ground: Ground) -> str | None:
    return _copy_source(word, ground) or ground.territory.no_removal(word, ground.directories)


def _not_remote(kind: Kind) -> Kind:
    def local(word: Word, ground: Ground) -> str | None:
        if ":" in str(word):
            return f"{word} may be on another host"
        return kind(word, ground)

    return local


def _script_root(word: Word, ground: Ground) -> str | None:
    if word.literal == ".":
        return None
    if "://" in str(word) or str(word).startswith("git@"):
        return f"{word} may be on another host"
    return _script(word, ground)


def _script(word: Word, ground: Ground) -> str | None:
    if word.literal == "-":
        return "it runs what it reads"
    if "://" in str(word):
        return f"{word} lies on another host"
    if word.prefix.startswith("@"):
        return f"{word} may be a file of options: begin a name with ./"
    return ground.territory.no_code(word, ground.directories)


def _project_script(word: Word, ground: Ground) -> str | None:
    if word.literal == "-":
        return "it runs what it reads"
    if "://" in str(word):
        return f"{word} lies on another host"
    return ground.territory.no_program(word, ground.directories)


def _local_root(word: Word, ground: Ground) -> str | None:
    """A folder of a project, and no address: `github.com/x` would be got from there."""
    text = word.literal
    if text is None or not re.match(r"\.{0,2}/|\.$|~|[\w-]+(/|$)", text):
        return f"{word} may be on another host: begin it with ./"
    return _script_root(word, ground)


_TAKES_AWAY = re.compile(
    r"(?i)drop|delet|trunc|purge|reset|down|rollback|revert|destroy|clean|wipe"
)


def _sql_script(word: Word, ground: Ground) -> str | None:
    """A script of a project that is not named after taking something away."""
    if _TAKES_AWAY.search(str(word).rpartition("/")[2]):
        return f"{word} takes something away, by its name"
    return _project_script(word, ground)


def _variable(word: Word, ground: Ground) -> str | None:
    name = word.prefix.partition("=")[0]
    if word.literal is None and "=" not in word.prefix:
        return f"the variable is not known: {word}"
    if "=" not in word.prefix or ground.variables.fullmatch(name):
        return None
    return f"no rule lists the variable {name}"


def _bare_variable(word: Word, ground: Ground) -> str | None:
    del ground
    text = word.literal
    return None if text and re.fullmatch(r"[A-Za-z_]\w*", text) else f"{word} is not a name"


_NEAR = re.compile(r"localhost|127\.0\.0\.1|::1|/(var/)?run/postgresql")


def _near(word: Word, ground: Ground) -> str | None:
    """This host, or one that the policy declares."""
    text = word.literal
    if text is None:
        return f"{word} is known only when it runs"
    declared = ground.territory.hosts
    if _NEAR.fullmatch(text) or (declared and unreachable(text, declared) is None):
        return None
    return f"{word} is another host"


def _query_part(word: Word, ground: Ground) -> str | None:
    """`NAME=TEXT` of an address, which only asks."""
    del ground
    text = word.literal
    if text is None or not re.fullmatch(r"[A-Za-z_][\w.\[\]-]*=.*", text, re.DOTALL):
        return f"{word} is not NAME=TEXT, or is read from a file"
    return f"{word} may change what the service keeps" if states(text) else None


def _anything(word: Word, ground: Ground) -> str | None:
    del word, ground
    return None


_CONFIGURATION = tuple(
    inside
    for place in ("/etc", "/usr/local/etc", "/var/named")
    if (inside := below(place, shown=False))
)


def _configuration(word: Word, ground: Ground) -> str | None:
    """A file where only the host's own configuration lies: any other may name code to load."""
    if all(inside(word, ground) for inside in _CONFIGURATION):
        return f"{word} is not known to be the host's own configuration, and may name code to load"
    return None


def _database_file(word: Word, ground: Ground) -> str | None:
    """A file of SQLite that is a secret by its ending alone."""
    text = word.literal
    if text is None:
        return f"{word} is known only when it runs"
    other = re.sub(r"\.sqlite3?$", ".db", text)
    return ground.territory.no_read(literal_word(other), ground.directories)


KINDS: dict[str, Kind] = {
    **configure_kinds.kinds(made_of),
    **{name: of_form(name) for name in FORMS},
    "any": _anything,
    "query-part": _query_part,
    "local-root": _local_root,
    "near": _near,
    "sql-script": _sql_script,
    **NAMED,
    "look": _anything,
    "read": _place(Territory.no_read),
    "tree": _place(Territory.no_reading_below),
    "public-tree": _place(Territory.no_showing_below),
    "write": no_writing,
    "environment": no_writing,
    "delete": _place(Territory.no_delete),
    "emptied": _place(Territory.no_emptying),
    "purge": _place(Territory.no_purge),
    "inside": _place(Territory.no_change),
    "into": _place(Territory.no_unpacking),
    "script": _project_script,
    "code-file": _script,
    "copied": _copy_source,
    "copied-tree": _copied_tree,
    "variable": _variable,
    "variable-name": _bare_variable,
    "awk": _program("awk program", awk_only_looks),
    "sed": _program("sed script", sed_only_edits),
    "jq": _program("jq program", jq_only_looks),
    "sql": _program("SQL", sql_only_looks),
    **{name: _program("SQL", _in_dialect(dialect)) for name, dialect in DIALECTS.items()},
    "counts": _program("SQL", sql_only_counts),
    "config": _configuration,
    "mongo": _program("JavaScript", mongo_only_looks),
    "database-file": _database_file,
    "yq": _program("yq program", yq_only_looks),
    COMMAND: _anything,
    REST: _anything,
    "moved": _move_source,
    "link-target": _anything,  # it counts from where the link lies (`policy/links.py`)
    "local-look": _not_remote(of_form("known")),
    "local-read": _not_remote(_place(Territory.no_read)),
    "local-tree": _not_remote(_copied_tree),
    "local-write": _not_remote(_place(Territory.no_write)),
    "delete-root": _place(Territory.no_emptying),
    "script-root": _script_root,
    EXEC: _anything,
}
"""Every kind by its name. A name with `|` or `/` means the words between the bars."""


BELOW = "below:"
"""`below:/srv/app` holds the paths in that folder, whatever they are called."""


@lru_cache(4096)
def kind_of(name: str) -> Kind | None:
    """The kind of that name; None when there is none."""
    if (quoted := quoted_words(name)) is not None:
        return exactly(quoted)
    if name.startswith(BELOW):
        return below(name.removeprefix(BELOW))
    if "|" not in name and "/" not in name:
        return KINDS.get(name)
    words = frozenset(name.split("|"))

    def one_of(word: Word, ground: Ground) -> str | None:
        del ground
        return None if word.literal in words else f"{word} is not one of {', '.join(sorted(words))}"

    return one_of


WRITING = frozenset({"write", "local-write", "into", "archive", "emptied"})
"""The kinds of words at which something is left behind."""

CHANGING = WRITING | {"delete", "purge", "inside", "moved", "delete-root", "environment"}
"""The kinds of words at which something changes."""

ENTERED = frozenset({"script-root"})
"""The kinds of words that name a directory to work in."""
