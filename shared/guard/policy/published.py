"""What is put where pages are served, and was not made for it: anybody could get it (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.pipes import sources_of
from shared.guard.programs.inline_code import option_values
from shared.guard.shell.written_files import files_of_dd, operands
from shared.guard.words import Run, Word

RULE = "published"

SERVED = re.compile(
    r"(/var/www/[^/]+|/srv/www|/usr/share/nginx/html|.*/(?:public|public_html|htdocs|webroot))(?:/.*)?"
)
"""Where pages are served, by name; the first group is the folder of them all."""

_TELLING = frozenset(
    {
        *("journalctl", "kubectl", "docker", "podman", "dmesg", "ps", "ss", "netstat", "lsof"),
        *("last", "lastlog", "who", "w", "psql", "mysql", "mariadb", "sqlite3", "redis-cli"),
        *("mongosh", "systemctl", "crontab", "aws", "gcloud", "az", "git", "find", "ls", "du"),
        *("nginx", "apachectl", "apache2ctl", "sshd", "env", "printenv", "lsblk", "ip", "dpkg"),
    }
)
"""Programs that tell of the host, of its data or of its programs."""

_PUTS = frozenset({"cp", "mv", "ln", "install", "rsync"})
PRIVATE = re.compile(
    r"(?i)(?:.*/)?(?:config|conf|settings|backups?|dumps?|data|databases?|db|logs?|private|storage"
    r"|keys|certs|ssl|secrets?|\.[^/]+)/*(?:[^/]*)?"
    r"|.*\.(?:tgz|tbz2?|txz|tar(?:\.[a-z0-9]+)?|zip|7z|sql(?:\.[a-z0-9]+)?|dump|bak|db|log|csv|ya?ml|ini|conf|env)"
)
"""What nobody should get, by name."""


_PAGE = re.compile(
    r"(?i)(?![/\ue000]).*|/(?:var/)?tmp/.*|(?:.*/)?(?:dist|build|public|static|assets|html|www|htdocs|out|_site"
    r"|sites?|docs?|web|frontend|client|pages?|themes?|releases?|current|img|images|uploads?|css|js|fonts|media"
    r"|blank|maintenance|errors?)(?:/.*)?"
    r"|.*\.(?:html?|css|m?js|map|png|jpe?g|gif|svg|webp|ico|woff2?|ttf|txt|xml|webmanifest|pdf|mp4|php)"
)
"""What is made to be served, by name or because it lies beside the pages of a project."""


def published_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that puts what was not made for it among pages."""
    listed = list(runs)
    for run in listed:
        if told := _shown_to_all(run, listed) or _put_among_pages(run):
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)


def _put_among_pages(run: Run) -> str | None:
    words = [word.with_placeholder("x") for word in run.argv[1:]]
    places = [word for word in words if not word.startswith("-")]
    if run.program == "git" and {"worktree", "clone"} & set(places[:1]):
        shown = next((place for place in places if SERVED.fullmatch(place)), None)
        return (
            f"all that a repository holds would lie where pages are served: {shown}"
            if shown
            else None
        )
    found = SERVED.fullmatch(places[-1]) if run.program in _PUTS and len(places) > 1 else None
    for place in places[:-1] if found else ():
        if found and not place.startswith(found[1]) and not _is_page(place):
            return f"{place} would lie where pages are served: {places[-1]}"
    return None


def _is_page(place: str) -> bool:
    return _PAGE.fullmatch(place) is not None and PRIVATE.fullmatch(place) is None


def _shown_to_all(run: Run, listed: list[Run]) -> str | None:
    """Why what a run puts out may not be written among pages; a redirection is its own run."""
    if not any(SERVED.fullmatch(word.with_placeholder("x")) for word in _outputs(run)):
        return None
    for each in sources_of(run, listed):
        if each.program in _TELLING:
            return f"what {each.program} tells would lie where pages are served"
        shown = next((text for text in _inputs(each) if not _is_page(text)), None)
        if shown is not None and not SERVED.fullmatch(shown):
            return f"what {shown} holds would lie where pages are served"
    return None


def _outputs(run: Run) -> Iterator[Word]:
    yield from run.writes
    words = run.argv[1:]
    match run.program:
        case "tee":
            yield from operands(words)
        case "split" | "csplit":
            yield from operands(words)[-1:]
        case "sort" | "jq" | "openssl" | "gpg" | "sqlite3":
            yield from option_values(words, "o", ("output",))
        case "dd":
            yield from files_of_dd(words)


def _inputs(run: Run) -> Iterator[str]:
    """The absolute paths that a run reads."""
    words = list(operands(run.argv[1:])) if run.program not in ("echo", "printf") else []
    words += run.reads
    words += [] if run.input is None else [run.input]
    if run.program == "tee":
        words = [] if run.input is None else [run.input]
    for word in words:
        text = word.with_placeholder("x").removeprefix("if=")
        if text.startswith("/") and not text.startswith("/dev/"):
            yield text
