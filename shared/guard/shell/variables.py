"""Variables that change which programs run, or what they do."""

import re

from shared.guard.secret_words import unknown_like
from shared.guard.shell.arithmetic import runs_in_arithmetic
from shared.guard.shell.interpreter import Interpreter
from shared.guard.shell.scope import Scope
from shared.guard.shell.streams import Input
from shared.guard.words import Word

_CHANGES_PROGRAMS = re.compile(
    r"PATH|HOME|TMPDIR|XDG_\w+|(?:\w+_)?(?:proxy|PROXY)|IFS|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|PS4|CDPATH|GLOBIGNORE|EXECIGNORE|SHELL"
    r"|LD_\w+|DYLD_\w+|BASH_FUNC\w*|GCONV_PATH|NLSPATH|LOCPATH"
    r"|PYTHON(PATH|STARTUP|HOME|BREAKPOINT|INSPECT|WARNINGS)|PERL5(LIB|OPT|DB)|RUBY(OPT|LIB)"
    r"|NODE_(OPTIONS|PATH)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH"
    r"|GIT_(?!AUTHOR_|COMMITTER_|SSH$|SSH_COMMAND$|EXTERNAL_DIFF$|PAGER$|EDITOR$)\w+"
    r"|RSYNC_CONNECT_PROG|TAR_OPTIONS|SSH_ASKPASS|SUDO_ASKPASS|DOCKER_HOST|KUBECONFIG"
)
_COMMANDS = re.compile(
    r"PAGER|\w+_PAGER|MANPAGER|EDITOR|VISUAL|\w+_EDITOR|BROWSER|LESSOPEN|LESSCLOSE"
    r"|PROMPT_COMMAND|GIT_SSH|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|RSYNC_RSH|CVS_RSH|FCEDIT|TAPE"
)


_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]*")
_LOCALE = re.compile(r"[A-Za-z0-9_.@:-]*")
_SWITCH = re.compile(r"(?i)[01]|yes|no|true|false|")
_FORMS: dict[str, re.Pattern[str]] = {
    # debconf evaluates it as Perl
    "DEBIAN_FRONTEND": re.compile(r"noninteractive|readline|teletype|dialog|text|passthrough|"),
    "DEBIAN_PRIORITY": re.compile(r"low|medium|high|critical|"),
    # frameworks load the file of that name
    **dict.fromkeys(
        ("NODE_ENV", "RAILS_ENV", "RACK_ENV", "FLASK_ENV", "APP_ENV", "ENVIRONMENT"), _PLAIN_NAME
    ),
    "DJANGO_SETTINGS_MODULE": re.compile(r"[A-Za-z_][A-Za-z0-9_.]*|"),
    # the C library opens files by these names
    **dict.fromkeys(("LANG", "LANGUAGE", "TERM"), _LOCALE),
    "TZ": re.compile(r"(?!.*\.\.)[A-Za-z0-9_+][A-Za-z0-9_+/,.<>:-]*|"),
    "PGDATABASE": _PLAIN_NAME,
    "PGUSER": _PLAIN_NAME,
}
_FORMS_OF_FAMILIES = (
    (re.compile(r"LC_\w+"), _LOCALE),
    (re.compile(r"NEEDRESTART_\w+"), _PLAIN_NAME),
    (re.compile(r"UCF_FORCE_\w+"), _SWITCH),
)
"""Variables whose value is more than text to some program, and the values that are harmless."""

_BY_EXPANSION = re.compile(r"\$\{(\w+):?=")
_BY_ARITHMETIC = re.compile(r"\b([A-Za-z_]\w*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")


def dangerous_in(text: str) -> str:
    """A variable that the text sets by `${NAME:=…}`, or by arithmetic, and that steers programs."""
    names = [found[1] for found in _BY_EXPANSION.finditer(text)]
    if "((" in text or "let" in text:
        names += (found[1] for found in _BY_ARITHMETIC.finditer(text))
    return next((name for name in names if changes_programs(name) or holds_command(name)), "")


def changes_programs(name: str) -> bool:
    """Check whether setting the variable may change what later words mean."""
    return _CHANGES_PROGRAMS.fullmatch(name) is not None


def holds_command(name: str) -> bool:
    """Check whether programs run the variable's value as a command."""
    return _COMMANDS.fullmatch(name) is not None


def _form_of(name: str) -> re.Pattern[str] | None:
    if name in _FORMS:
        return _FORMS[name]
    return next((form for family, form in _FORMS_OF_FAMILIES if family.fullmatch(name)), None)


def _fits(value: Word, form: re.Pattern[str]) -> bool:
    return value.literal is not None and form.fullmatch(value.literal) is not None


def assign(walk: Interpreter, scope: Scope, name: str, value: Word) -> Scope:
    """A variable is set; doubts where that changes what later words mean."""
    if changes_programs(name):
        walk.doubt("environment", f"it sets {name}, which changes what programs do")
    elif (form := _form_of(name)) is not None and not _fits(value, form):
        walk.doubt("environment", f"it sets {name} to more than a plain name: {value}")
    elif holds_command(name):
        walk.code(value, "sh", scope.child(), Input())
    if runs_in_arithmetic(str(value)):
        walk.doubt("arithmetic-code", f"arithmetic would run a command inside {name}")
    if name in walk.fixed:
        value = unknown_like(scope.value(name), value)
    return scope.assign(name, value)
