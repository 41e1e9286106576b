"""Checks a repository before anybody works in it: whether git can read it, and from where.

It asks git, and changes nothing. The text is replan's own; only names are put into it, quoted.
"""

import shlex
from collections.abc import Mapping, Sequence

from shared.domain.errors import Transient
from shared.domain.target import Repository, RepositoryFault, RepositoryNotice, RepositoryReport
from workers.shells.ports import Call, Shell

CHECK_TIMEOUT = 45.0
"""Seconds for the whole check; git may have to reach another machine."""

MOST_BRANCHES = 20
"""How many branches are named."""

_COMMON = r"""
export LC_ALL=C GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=true SSH_ASKPASS=true
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
fail() { echo "fault=$1"; echo "detail=$2"; exit 0; }
command -v git >/dev/null || fail no_git
echo "git=$(git --version | sed 's/^git version //')"
"""

# The configuration of a repository names programs that git starts: none of them runs here.
_OF_PATH = r"""
here() {
  git -c safe.directory='*' -c core.fsmonitor=false -c core.hooksPath=/dev/null \
    --no-optional-locks "$@"
}
[ -d "$path" ] || fail absent "$path"
[ -r "$path" ] && cd "$path" 2>/dev/null || fail unreadable "$path"
common=$(here rev-parse --git-common-dir 2>/dev/null) || fail no_repository "$path"
if [ "$(here rev-parse --is-bare-repository)" = true ]; then
  echo notice=bare
else
  top=$(here rev-parse --show-toplevel 2>/dev/null) || fail no_repository "$path"
  [ "$(cd "$top" && pwd -P)" = "$(pwd -P)" ] || fail inside "$top"
fi
for each in "$common"/objects/pack/*.promisor; do
  [ ! -e "$each" ] || fail partial "$path"
done
[ "$(here rev-parse --is-shallow-repository)" != true ] || echo notice=shallow
here for-each-ref --count=MOST --format='known=%(refname:strip=2)' refs/heads
[ "$branch" ] || branch=$(here symbolic-ref --quiet --short HEAD)
if [ "$branch" ]; then
  echo "branch=$branch"
  commit=$(here rev-parse --verify --quiet "refs/heads/$branch^{commit}")
else
  commit=$(here rev-parse --verify --quiet 'HEAD^{commit}')
fi
if [ -z "$commit" ]; then
  [ "$(here for-each-ref --count=1 refs/heads)" ] && fail no_branch "$branch"
  fail empty "$path"
fi
echo "commit=$commit"
inner=$(here ls-tree -r "$commit" | sed -n 's/^160000 [^	]*	//p' | head -n 8)
[ -z "$inner" ] || fail submodules "$(echo "$inner" | tr '\n' ' ')"
! here grep -q -E 'filter=lfs' "$commit" -- ':(glob)**/.gitattributes' || echo notice=lfs
echo "uncommitted=$(here status --porcelain 2>/dev/null | wc -l)"
exit 0
"""

_OF_URL = r"""
export GIT_SSH_COMMAND="${GIT_SSH_COMMAND:-ssh} -o BatchMode=yes"
cd /
said=$(git ls-remote --symref -- "$url" 2>&1) ||
  fail unreachable "$(echo "$said" | grep -v '^$' | head -n 1)"
tab=$(printf '\t')
heads=$(echo "$said" | grep "^[0-9a-f]*${tab}refs/heads/") || fail empty "$url"
echo "$heads" | head -n MOST | sed "s|^.*${tab}refs/heads/|known=|"
[ "$branch" ] ||
  branch=$(echo "$said" | sed -n "s|^ref: refs/heads/\(.*\)${tab}HEAD$|\1|p" | head -n 1)
if [ "$branch" ]; then
  echo "branch=$branch"
  commit=$(echo "$heads" | awk -v wanted="refs/heads/$branch" '$2 == wanted { print $1 }')
else
  commit=$(echo "$said" | awk '$2 == "HEAD" { print $1 }' | head -n 1)
fi
[ "$commit" ] || fail no_branch "$branch"
echo "commit=$commit"
exit 0
"""


def check_repository(shell: Shell, repository: Repository) -> RepositoryReport:
    """What git on the host says about the repository. Raises what `run` raises, and Transient."""
    given = {
        "path": repository.path or "",
        "url": repository.url or "",
        "branch": repository.branch or "",
    }
    head = "\n".join(f"{name}={shlex.quote(text)}" for name, text in given.items())
    body = _OF_URL if repository.path is None else _OF_PATH
    script = f"{head}{_COMMON}{body}".replace("MOST", str(MOST_BRANCHES))
    result = shell.run(Call(script, CHECK_TIMEOUT))
    if not result.ok:
        ending = f"no answer in {CHECK_TIMEOUT:.0f} s" if result.timed_out else "no answer"
        raise Transient(f"git on {repository.host} gave {ending}", stage="repository")
    return report_of(result.stdout.decode("utf-8", "backslashreplace").splitlines())


def report_of(lines: Sequence[str]) -> RepositoryReport:
    """The report in the lines that the check prints: each a name, `=` and a value."""
    told: dict[str, list[str]] = {}
    for line in lines:
        name, mark, value = line.partition("=")
        if mark:
            told.setdefault(name, []).append(value.strip())
    uncommitted = int(_one(told, "uncommitted") or 0)
    notices = [RepositoryNotice(each) for each in told.get("notice", [])]
    if uncommitted:
        notices.append(RepositoryNotice.UNCOMMITTED)
    fault = _one(told, "fault")
    return RepositoryReport(
        git=_one(told, "git"),
        branch=_one(told, "branch"),
        commit=_one(told, "commit"),
        branches=tuple(told.get("known", ())),
        uncommitted=uncommitted,
        notices=tuple(notices),
        fault=None if fault is None else RepositoryFault(fault),
        detail=_one(told, "detail") or "",
    )


def _one(told: Mapping[str, Sequence[str]], name: str) -> str | None:
    return told[name][0] or None if name in told else None
