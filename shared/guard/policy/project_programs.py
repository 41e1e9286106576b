"""Programs that a project brings: which files are taken for such a program, and with which words.

Nobody but the project knows what its programs do, so only what looks like a step of its work is
allowed: a script, with plain words, of which none destroys anything or is code (X17). Programs that
others made and that lie there, as in `venv/bin` or `node_modules`, go by the rules of their names.
"""

import re
from collections.abc import Iterator

from shared.guard.policy.ground import Ground
from shared.guard.programs.inline_code import INTERPRETERS, SHELL_NAMES, language
from shared.guard.programs.interpreters import script_program, shell_program
from shared.guard.words import HOME, Glob, Hole, Run, Word, literal_word

_SCRIPT = re.compile(r"[\w-][\w.+-]*\.(?:sh|bash|py|pl|rb|js|mjs|cjs|ts|php|lua|tcl|R)")
_UNSUITED = re.compile(r".*\.(?:txt|log|md|html?|csv|json|ya?ml|xml|conf|cfg|ini|out|tmp|dat|bin)")
_STEP = re.compile(
    r"(?:run|start|stop|restart|reload|serve|server|tests?|check|verify|smoke|health|healthcheck"
    r"|status|build|rebuild|compile|make|configure|autogen|bootstrap|setup|prepare|preflight|init"
    r"|install|provision|deploy|release|package|dist|publish|lint|format|ci|dev|app|main|entrypoint"
    r"|docker-entrypoint|migrate|backup|restore|sync|update|upgrade|warmup|report|clean|rotate"
    r"|notify|announce|render|generate|fetch|pull|watch|work|worker|job|task|script)"
    r"(?:[-_.]?[A-Za-z0-9]+)*"
)
_ONLY_ASKS = frozenset(
    {
        *("--version", "--help", "-h", "-V", "-v", "--verbose", "--quiet", "-q", "--dry-run", "-n"),
        *("--check", "--list", "--status", "version", "help", "status", "list", "check"),
    }
)
_OF_OTHERS = frozenset(
    {
        *("node_modules", "vendor", "venv", ".venv", "env", ".env", "virtualenv", "site-packages"),
        *("dist-packages", "libexec", "sbin", ".bin", ".tox", ".nox", ".git", "third_party"),
        *("Cellar", "conda", "miniconda", "anaconda", "sdk", "jre", "jdk", "embedded"),
    }
)
_DESTROYS = re.compile(
    r"(?i)(?:^|[^A-Za-z])(?:destroy|delet(?:e|ion|ing)|del|drop|flush(?:all|db)?|purge|wipe(?:fs)?|erase"
    r"|reset|rm|rmi|rmdir|remove|uninstall|prune|truncate|nuke|zap|shred|kill|killall|fresh|teardown"
    r"|shutdown|reboot|halt|poweroff|obliterate|overwrite|clobber|force|hard|recurse|decommission"
    r"|terminate|evict|revoke|disable|detach|unmount|umount|format|factory|empty|abandon"
    r"|shell|dbshell|tinker|console|runner|repl|eval|evaluate|exec|execute|cmd|command|code|init-script"
    r"|initscript|require|preload|plugin|hook|sudo|su"
    r"|private|reveal|unmask|decrypt|secrets?|show-?secrets?|passwords?)(?:$|[^A-Za-z])"
)
_PLAIN = re.compile(r"[\w @%+=:,./~^'!-]*")
_SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run/user")  # noqa: S108 - these are looked for
_SYSTEM = re.compile(r"/(?:etc|root|boot|dev|proc|sys|run|usr|var/(?:lib|spool|run))(?:/|$)")
_PATH = re.compile(r"(?:^|[=:,@])((?:~|\.{1,2})?/[^=:,@]*)")


def strange_program(path: Word, words: tuple[Word, ...]) -> str | None:
    """Why a file below a project is not taken for one of its programs, or None.

    With no more than a question after its name, any will do: it does what it is there for.
    """
    text = path.literal
    if text is None:
        return f"{path} is known only when it runs"
    *folders, name = text.split("/")
    if others := sorted(_OF_OTHERS & set(folders)):
        return f"{path} is not a program of the project: others made what lies in {others[0]}"
    asked = all(word.literal in _ONLY_ASKS for word in words)
    if not asked and not _SCRIPT.fullmatch(name) and not _STEP.fullmatch(name):
        return f"{path} does not look like a script of the project"
    return None


def strange_words(words: tuple[Word, ...], ground: Ground) -> str | None:
    """Why a program of a project may not be given these words, or None."""
    return next(filter(None, (_strange_word(word, ground) for word in words)), None)


def script_of(run: Run) -> tuple[Word, tuple[Word, ...]] | None:
    """The script that a shell or an interpreter is given as a file, and its words."""
    words = run.argv[1:]
    if run.program in SHELL_NAMES:
        program = shell_program(words)
    elif language(run.program) in INTERPRETERS:
        program = script_program(words)
    else:
        return None
    if program.source != "file" or program.word is None:
        return None
    at = next(i for i, word in enumerate(words) if word is program.word)
    return program.word, words[at + 1 :]


_TAKES_AWAY = re.compile(
    r"(?i)(?:.*[-_.])?(?:delete|drop|purge|wipe|destroy|truncate|flush|nuke)(?:[-_.].*)?"
)


def strange_script(path: Word) -> str | None:
    """Why a file that an interpreter is given is not taken for a script, or None."""
    name = str(path).rpartition("/")[2]
    if _UNSUITED.fullmatch(name):
        return f"{path} does not look like a script"
    if _TAKES_AWAY.fullmatch(name):
        return f"{path} takes something away, by its name"
    return None


def names_of_program(name: str) -> Iterator[str]:
    """The names under which rules may know a program: `python3.11` is `python3` and `python`."""
    yield name
    bare = re.sub(r"[-.]?\d+(?:\.\d+)*$", "", name)
    if bare and bare != name:
        yield f"{bare}3"
        yield bare


def _strange_word(word: Word, ground: Ground) -> str | None:
    if any(isinstance(piece, Hole) for piece in word.pieces):
        return f"{word} is known only when it runs, and goes to a program that may do anything"
    shown = word.with_placeholder("").replace(HOME, "~")
    if not any(isinstance(piece, Glob) for piece in word.pieces) and not _PLAIN.fullmatch(shown):
        return f"{shown[:80]} may be code for a program that may do anything"
    if _DESTROYS.search(shown):
        return f"{shown[:80]} may destroy something, or run what it is given"
    if "://" in shown and "://localhost" not in shown and "://127.0.0.1" not in shown:
        return f"{shown[:80]} leads to another host"
    for path in _PATH.findall(shown):
        if path.startswith(_SHARED):
            return f"{path} is a place to which everybody writes"
        # another path may be that of a page: `/health`
        ask = ground.territory.no_read if _SYSTEM.match(path) else ground.territory.secret_in
        if why := ask(literal_word(path.replace("~", HOME, 1)), ground.directories):
            return why
    return None
