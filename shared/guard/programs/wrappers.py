"""Programs that run another program, which stands in their own arguments."""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from shared.guard.words import Hole, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to find the inner command.

    `valued` are the letters that take a value, `longs` the long options that take theirs as a word
    of its own, `bare` those that take none, `flags` the letters that take none; what stands in no
    list is read both ways. `stops` are letters with which nothing is run.
    `skip` operands stand before the command; `verbs` are sub-commands of which one has to come
    first, and behind none of `not_after`, which have verbs of their own; `after` is the word behind
    which the command begins. `assigns`: `NAME=value` may stand before the command. `joins`: the
    words are joined and read by a shell, which is on another host when `remote`. `extra`: words
    that are not known are added at the end.
    """

    valued: str = ""
    flags: str = ""
    stops: str = ""
    longs: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    skip: int = 0
    verbs: tuple[str, ...] = ()
    verb_needed: bool = False
    not_after: frozenset[str] = frozenset()
    after: str = ""
    assigns: bool = False
    joins: bool = False
    remote: bool = False
    extra: bool = False


@dataclass(frozen=True, slots=True)
class Inner:
    """One way to read what a wrapper runs: its words, and the variables set for it.

    `before` are the words of the wrapper itself. `sure` is False where an option that is not known
    may take the first word as its value, or not.
    """

    words: tuple[Word, ...]
    assigned: tuple[tuple[str, Word], ...] = ()
    before: tuple[Word, ...] = ()
    sure: bool = True


_CONTAINER_LONGS = (
    "env", "user", "workdir", "env-file", "detach-keys", "name", "volume", "publish", "network",
    "entrypoint", "mount", "label", "memory", "cpus", "hostname", "add-host", "cap-add",
    "cap-drop", "device", "dns", "gpus", "ipc", "log-driver", "log-opt", "pid", "platform",
    "pull", "restart", "runtime", "security-opt", "shm-size", "stop-signal", "tmpfs", "ulimit",
    "volumes-from", "cidfile", "context", "host", "log-level", "config", "index", "file",
    "project-name", "profile", "project-directory", "memory-swap", "cpu-shares", "hostname",
    "network-alias", "health-cmd", "health-interval", "health-timeout", "health-retries",
    "stop-timeout", "pids-limit", "net", "env-file",
)  # fmt: skip
_CONTAINER_BARE = (
    "rm", "init", "read-only", "detach", "interactive", "tty", "quiet", "no-deps", "privileged",
    "publish-all", "no-healthcheck", "service-ports", "use-aliases", "build", "remove-orphans",
)  # fmt: skip
_OBJECTS = frozenset(
    {
        "network",
        "volume",
        "context",
        "secret",
        "config",
        "buildx",
        "manifest",
        "plugin",
        "checkpoint",
    }
)
_CONTAINER_EXEC = Wrapper(
    valued="uewHcl",
    flags="ditT",
    longs=_CONTAINER_LONGS,
    skip=1,
    verbs=("exec",),
    verb_needed=True,
)
_CONTAINER_RUN = Wrapper(
    valued="aceheHlmpuvw",
    flags="ditPqDT",
    longs=_CONTAINER_LONGS,
    bare=_CONTAINER_BARE,
    skip=1,
    verbs=("run", "create"),
    verb_needed=True,
    not_after=_OBJECTS,
)
_KUBE_LONGS = (
    "namespace", "container", "context", "cluster", "user", "kubeconfig", "server", "token",
    "filename", "pod-running-timeout",
)  # fmt: skip
_KUBE = Wrapper(
    valued="ncsfv", flags="itq", longs=_KUBE_LONGS, verbs=("exec",), verb_needed=True, after="--"
)
_SSH = Wrapper(
    valued="BbcDEeFIiJLlmOopPQRSWw",
    flags="46AaCfGgKkMNnqsTtVvXxYy",
    skip=1,
    joins=True,
    remote=True,
)
_FIRST = Wrapper()

WRAPPERS: dict[str, tuple[Wrapper, ...]] = {
    "sudo": (
        Wrapper(
            valued="ugpCchDRrTtU",
            flags="AbEeHiKklNnPSsvVB",
            longs=("user", "group", "prompt", "close-from", "chdir", "chroot", "role", "type",
                   "command-timeout", "other-user", "host", "login-class"),
            assigns=True,
        ),
    ),
    "doas": (Wrapper(valued="uC", flags="Lns", assigns=True),),
    "pkexec": (Wrapper(longs=("user",)),),
    "runuser": (Wrapper(valued="ugG", flags="mp", longs=("user", "group", "supp-group")),),
    "gosu": (Wrapper(skip=1),),
    "su-exec": (Wrapper(skip=1),),
    "setuidgid": (Wrapper(skip=1),),
    "env": (
        Wrapper(valued="uCSa", flags="iv0-", longs=("unset", "chdir", "argv0"), assigns=True),
    ),
    "nohup": (_FIRST,),
    "builtin": (_FIRST,),
    "busybox": (_FIRST,),
    "toybox": (_FIRST,),
    "fakeroot": (Wrapper(valued="lfisb", flags="uhv"),),
    "eatmydata": (_FIRST,),
    "unbuffer": (Wrapper(flags="p"),),
    "rlwrap": (_FIRST,),
    "torsocks": (_FIRST,),
    "proxychains": (Wrapper(valued="f", flags="q"),),
    "proxychains4": (Wrapper(valued="f", flags="q"),),
    "tini": (Wrapper(valued="pe", flags="svwg"),),
    "dumb-init": (Wrapper(valued="r", flags="cv"),),
    "dbus-run-session": (Wrapper(longs=("config-file", "dbus-daemon")),),
    "xvfb-run": (Wrapper(valued="efnpsw", flags="al"),),
    "catchsegv": (_FIRST,),
    "noglob": (_FIRST,),
    "nocorrect": (_FIRST,),
    "linux32": (_FIRST,),
    "linux64": (_FIRST,),
    "setarch": (Wrapper(skip=1), _FIRST),
    "nice": (Wrapper(valued="n", flags="0123456789", longs=("adjustment",)),),
    "ionice": (Wrapper(valued="cnpPu", flags="t", longs=("class", "classdata")),),
    "chrt": (Wrapper(valued="TPD", flags="abdfiormpvGR", skip=1),),
    "taskset": (Wrapper(flags="apc", skip=1),),
    "numactl": (Wrapper(valued="CNimplp", flags="as"),),
    "prlimit": (Wrapper(valued="p"),),
    "cpulimit": (Wrapper(valued="lpPe", flags="bfqizkv"),),
    "cgexec": (Wrapper(valued="g"),),
    "choom": (Wrapper(valued="np"),),
    "setsid": (Wrapper(flags="cfw"),),
    "stdbuf": (Wrapper(valued="ioe", longs=("input", "output", "error")),),
    "timeout": (Wrapper(valued="ks", flags="fpv", longs=("kill-after", "signal"), skip=1),),
    "time": (Wrapper(valued="fo", flags="apvqV", longs=("format", "output")),),
    "exec": (Wrapper(valued="a", flags="cl"),),
    "command": (Wrapper(flags="p", stops="vV"),),
    "coproc": (_FIRST,),
    "chroot": (Wrapper(longs=("userspec", "groups"), skip=1),),
    "unshare": (Wrapper(valued="SGRwl", flags="mnpuUifrcCT"),),
    "nsenter": (Wrapper(valued="tSGN", flags="mnpuUiCTaFeZ"),),
    "setpriv": (
        Wrapper(
            longs=("ambient-caps", "bounding-set", "inh-caps", "ruid", "euid", "rgid", "egid",
                   "reuid", "regid", "groups", "securebits", "pdeathsig", "apparmor-profile",
                   "selinux-label")
        ),
    ),
    "capsh": (Wrapper(after="--"),),
    "firejail": (_FIRST,),
    "bwrap": (Wrapper(after="--"), _FIRST),
    "systemd-run": (
        Wrapper(
            valued="pEMHu",
            flags="GPdqrSt",
            longs=("unit", "property", "setenv", "machine", "host", "description", "slice",
                   "uid", "gid", "nice", "working-directory", "on-active", "on-boot",
                   "on-calendar", "on-startup", "on-unit-active", "on-unit-inactive",
                   "timer-property", "path-property", "socket-property", "service-type"),
        ),
    ),
    "systemd-inhibit": (Wrapper(longs=("what", "who", "why", "mode")),),
    "xargs": (
        Wrapper(
            valued="aEIdLnPs",
            flags="0rtxopeil",
            longs=("arg-file", "delimiter", "max-args", "max-procs", "max-chars",
                   "process-slot-var"),
            extra=True,
        ),
    ),
    "parallel": (
        Wrapper(
            valued="jaSIdN", flags="kmXqtvu0", longs=("jobs", "arg-file", "sshlogin", "delay"),
            joins=True, extra=True,
        ),
    ),
    "watch": (Wrapper(valued="nq", flags="bcdegptwxC", longs=("interval",), joins=True),),
    "flock": (Wrapper(valued="wEc", flags="senuxoFv", skip=1),),
    "strace": (Wrapper(valued="abeEIoOpPsSuUX", flags="cCdDfFhiknqrtTvVwxyYzZ"),),
    "ltrace": (Wrapper(valued="aAeDlFnopsuwx", flags="bcCfiLrStTV"),),
    "valgrind": (_FIRST,),
    "perf": (Wrapper(valued="eopCtFcm", flags="agvq", verbs=("record", "stat", "trace")),),
    "hyperfine": (Wrapper(valued="wmMrSpcn", joins=True),),
    "multitime": (Wrapper(valued="n"),),
    "entr": (Wrapper(flags="acdnprsxz"),),
    "start-stop-daemon": (Wrapper(after="--"),),
    "daemonize": (Wrapper(valued="celoupE", flags="av"),),
    "tsp": (Wrapper(valued="Ld", flags="nfm"),),
    "nq": (Wrapper(flags="cq"),),
    "ssh": (_SSH,),
    "autossh": (replace(_SSH, valued=f"{_SSH.valued}M"),),
    "rsh": (Wrapper(valued="l", flags="n", skip=1, joins=True, remote=True),),
    "mosh": (Wrapper(longs=("ssh", "port"), skip=1, remote=True),),
    "sshpass": (Wrapper(valued="fdpP", flags="ev"),),
    "docker": (_CONTAINER_EXEC, _CONTAINER_RUN),
    "podman": (_CONTAINER_EXEC, _CONTAINER_RUN),
    "nerdctl": (_CONTAINER_EXEC, _CONTAINER_RUN),
    "docker-compose": (_CONTAINER_EXEC, _CONTAINER_RUN),
    "podman-compose": (_CONTAINER_EXEC, _CONTAINER_RUN),
    "crictl": (_CONTAINER_EXEC,),
    "kubectl": (_KUBE,),
    "oc": (_KUBE, Wrapper(valued="nc", skip=1, verbs=("rsh",), verb_needed=True)),
    "lxc": (Wrapper(verbs=("exec",), verb_needed=True, after="--"),),
    "lxc-attach": (Wrapper(after="--"),),
    "machinectl": (Wrapper(valued="HMEp", skip=1, verbs=("shell",), verb_needed=True),),
    "ip": (Wrapper(skip=1, verbs=("exec",), verb_needed=True),),
    "poetry": (Wrapper(verbs=("run",), verb_needed=True),),
    "uv": (Wrapper(verbs=("run",), verb_needed=True),),
    "pipenv": (Wrapper(verbs=("run",), verb_needed=True),),
    "bundle": (Wrapper(verbs=("exec",), verb_needed=True),),
    "npx": (Wrapper(valued="pc", flags="y"),),
    "direnv": (Wrapper(skip=1, verbs=("exec",), verb_needed=True),),
    "git": (Wrapper(valued="Cc", verbs=("run",), verb_needed=True),),
}  # fmt: skip
"""The table; several entries for one name are several ways to read it."""


class _Position(NamedTuple):
    """The position of the reader, and how it got there."""

    at: int
    to_skip: int
    """Operands that still stand before the command."""
    options: bool
    """Check whether options may follow."""
    sure: bool = True


@dataclass(slots=True)
class _CommandSearch:
    """All the places at which the inner command may begin."""

    words: tuple[Word, ...]
    wrapper: Wrapper

    def from_word(self, start: int) -> dict[int, bool]:
        """The places, and whether each is sure, when reading begins at `start`."""
        found: dict[int, bool] = {}
        waiting = [_Position(start, self.wrapper.skip, not self.wrapper.after)]
        seen = set(waiting)
        while waiting:
            here = waiting.pop()
            if here.at >= len(self.words):
                continue
            following = self._following(here)
            if not following:
                found[here.at] = found.get(here.at, False) or here.sure
            if here.options and self._starts_unknown(here.at):
                # it may be an option
                following.append(here._replace(at=here.at + 1, sure=False))
            waiting += [position for position in following if position not in seen]
            seen.update(following)
        return found

    def _following(self, here: _Position) -> list[_Position]:
        """The positions that may come next; none when the command begins here."""
        word = self.words[here.at]
        prefix = word.prefix
        following = here._replace(at=here.at + 1)
        if word.literal == "--" and here.options:
            return [following._replace(options=False)]
        if word.literal == "-" and here.options and "-" in self.wrapper.flags:
            return [following]
        if here.options and len(prefix) > 1 and prefix.startswith("-"):
            steps = self._option(word, prefix)
            beyond = _Position(len(self.words), 0, options=False)
            return [
                here._replace(at=here.at + step, sure=here.sure and step == steps[0])
                for step in steps
            ] or [beyond]
        if self.wrapper.assigns and _ASSIGNMENT.match(prefix):
            return [following]
        if here.to_skip:
            # ssh reads options behind the host, too
            options = here.options and self.wrapper.remote
            return [following._replace(to_skip=here.to_skip - 1, options=options)]
        return []

    def _starts_unknown(self, at: int) -> bool:
        pieces = self.words[at].pieces
        return bool(pieces) and isinstance(pieces[0], Hole)

    def _option(self, word: Word, prefix: str) -> tuple[int, ...]:
        """How many words the option takes, the likeliest number first; none: nothing is run."""
        if prefix.startswith("--"):
            if "=" in prefix:
                return (1,)
            name = prefix[2:]
            if name in self.wrapper.bare:
                return (1,)
            valued = any(long.startswith(name) for long in self.wrapper.longs)
            return (2,) if valued else (1, 2)
        for index, letter in enumerate(prefix[1:], start=2):
            if letter in self.wrapper.stops:
                return ()
            attached = index < len(prefix) or word.unknown
            if letter in self.wrapper.valued:
                return (1,) if attached else (2,)
            if letter not in self.wrapper.flags:
                return (1,) if attached else (1, 2)
        return (1,)


def inner_commands(program: str, words: tuple[Word, ...]) -> list[tuple[Wrapper, Inner]]:
    """Every way to read what `program` runs, given the words behind its name."""
    found = []
    for wrapper in WRAPPERS.get(program, ()):
        for start, given in _begins(wrapper, words):
            places = _CommandSearch(given, wrapper).from_word(start)
            found += [
                (wrapper, Inner(given[at:], _assignments(given[:at]), given[:at], sure))
                for at, sure in sorted(places.items())
            ]
    return found


def _begins(wrapper: Wrapper, words: tuple[Word, ...]) -> list[tuple[int, tuple[Word, ...]]]:
    start = 0
    if wrapper.verbs:
        places = [
            i
            for i, word in enumerate(words)
            if word.literal in wrapper.verbs
            and not (i and words[i - 1].literal in wrapper.not_after)
        ]
        if places:
            start = places[0] + 1
        elif wrapper.verb_needed:
            return []
    if wrapper.after:
        ends = [i for i in range(start, len(words)) if words[i].literal == wrapper.after]
        if ends:
            return [(ends[0] + 1, words)]
        return [] if wrapper is not _KUBE else [(start + 1, words)]
    return [(start, words)]


def _assignments(words: tuple[Word, ...]) -> tuple[tuple[str, Word], ...]:
    matches = ((word, _ASSIGNMENT.match(word.prefix)) for word in words)
    return tuple((match[1], word.after(match.end())) for word, match in matches if match)
