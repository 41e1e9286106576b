"""The kinds of words that are told by their form alone."""

import re
from typing import Final

from shared.guard.policy.ground import Ground, Kind
from shared.guard.words import Word

_MODE = r"([ugoa]*[+=-][rxX]*|[ug]+[+=-][rwxX]*|[ugoa]*-[rwxX]*)"
_TOP = (
    r"State|NetworkSettings|RestartCount|Id|ID|Image|Created|Name|Mounts|RepoTags|RepoDigests|Size"
    r"|Architecture|Os|Driver|Platform|LogPath|HostConfig\.(RestartPolicy|Memory|NetworkMode"
    r"|PortBindings|Binds|NanoCpus|AutoRemove|Privileged)|Config\.(Image|Healthcheck|User|WorkingDir)"
)
_ITEM = "IPAddress|Gateway|Source|Destination|HostPort|HostIp|Type|Mode|ExitCode|Output|Status"
_FACT = (
    rf"\{{\{{-?\s*((json|range|if|with|len|println)\s+)?\.({_TOP}|{_ITEM})(\.\w+)*\s*-?\}}\}}"
    r"|\{\{-?\s*(end|else)\s*-?\}\}"
)
"""A fact about a container, as a template names it: none that may show its environment."""
FORMS: Final = {
    "known": (r".*", "is known only when it runs"),
    "number": (r"[+-]?\d+(\.\d+)?[smhdKMGTkBbgti%]*", "is not a number"),
    "count": (r"\d+|all", "is not a number"),
    "few": (r"\d{1,2}", "is not a small number"),
    "package-pattern": (r"[A-Za-z0-9_@%+=:,.*?/\[\]][A-Za-z0-9_@%+=:,.*?/\[\]-]*",
                        "is not a plain pattern of packages"),
    "page-socket": (r"/(?:var/)?run/(?!.*(?:docker|podman|containerd|crio|buildkit|snapd|systemd"
                    r"|dbus|libvirt|lxd|incus|k3s|user/|\.\.))[\w./-]+\.sock(?:et)?",
                    "is not a socket of a service that answers with pages"),
    "few-processes": (r"[1-9]\d?", "is not a small number of processes"),
    "name": (r"[A-Za-z0-9_@%+=:,.][A-Za-z0-9_@%+=:,.-]*", "is not a plain name"),
    "names": (r"[A-Za-z0-9_@%+=:,./ -]*", "is not a list of plain names"),
    "account": (r"[a-z_][a-z0-9_-]*", "is not a plain name of an account"),
    "owner": (r"(?!0\b|root)[a-z_][a-z0-9_-]*(:([a-z_][a-z0-9_-]*)?)?|:[a-z_][a-z0-9_-]*",
              "is not a plain OWNER:GROUP"),
    "package": (r"(?i)(?!.*\.(?:rpm|deb|apk|udeb|pkg|txz|tar|xz|zst|gz|repo|ipk|snap|flatpak)$)"
                r"[A-Za-z0-9][A-Za-z0-9._+:~-]*(?<!-)(=[A-Za-z0-9.+:~_-]+\*?)?",
                "is not a name of a package"),
    "package-to-install": (r"(?i)(?!.*\.(?:rpm|deb|apk|udeb|pkg|txz|tar|xz|zst|gz|repo"
                r"|ipk|snap|flatpak)"
                r"$)"
                # the firewall, the network or a way into the host changes as soon as one is there
                r"(?!(?:nullmailer|ssmtp|msmtp-mta|g?ufw|firewalld|(?:iptables|netfilter|ipset)-persistent|shorewall.*|ferm"
                r"|arno-iptables.*|dropbear.*|telnetd.*|telnet-server|(?:inet)?utils-telnetd|rsh-.*"
                r"|network-?manager|connman|wicked|ifupdown.*|netplan.*|systemd-(?:resolved|networkd)"
                r"|nis|ypserv|ypbind|cockpit.*|webmin|usermin|ajenti.*|shellinabox|ttyd|gotty|xrdp"
                r"|(?:x11|tiger|tight)vnc.*|vnc4server|vsftpd|proftpd.*|pure-ftpd.*|tftpd.*"
                # tools to break in, or to earn with the host
                r"|hydra.*|medusa|ncrack|john|hashcat|ettercap.*|dsniff|aircrack-ng|metasploit.*"
                r"|sqlmap|masscan|hping3|slowhttptest|xmrig|cpuminer.*|minerd|bettercap|proxychains.*"
                r"|resolvconf|openresolv|sysvinit-core|systemd-sysv|selinux-basics|xinetd)"
                r"(?:[=:].*)?$)"
                r"[A-Za-z0-9][A-Za-z0-9._+:~-]*(?<!-)(=[A-Za-z0-9.+:~_-]+\*?)?",
                "is not a name of a package, or changes the network or the ways into the host"),
    "package-to-hold": (r"(?!(?:openss[lh]|libssl|libc6|glibc|libgnutls|libcurl|sudo|linux-|kernel"
                r"|systemd|ca-certificates|gnupg|gpg|apt|dpkg|rpm|dnf|polkit|policykit|libpam|pam"
                r"|login|passwd|shadow|unattended-upgrades|base-files|bash|dash|busybox|zlib).*)"
                r"[a-z0-9][a-z0-9.+-]*",
                "is not a name of a package, or keeps the host from updates of its security"),
    "shown-property": (r"(?i)(?!.*(environ|credential|pass))[\w,]+",
                       "is not a plain property, or shows the environment"),
    "git-setting": (r"(?i)(?!.*(header|passw|token|credential|secret|proxy|cookie|smtp|key))"
                    r"[A-Za-z0-9._/-]+", "is not a plain setting, or holds a secret"),
    "task-name": (r"(?i)(?!.*(destroy|delet|drop|flush|purge|wipe|reset|remove|uninstall|clean-?all"
                  r"|truncate|nuke|rollback|publish|fresh|seed|shell|console|eval|exec|^env$|printenv))"
                  r"[A-Za-z0-9_@%+=:,.-]+", "is not the plain name of a task, or destroys"),
    "ps-format": (r"(?i)(?!.*env)[a-z0-9_,=%: ]+", "is not a plain format"),
    "shown-unit": (r"[A-Za-z0-9][A-Za-z0-9@_.:*\\-]*", "is not a plain name of a unit"),
    "mode": (rf"0?[4-7][0-7][0145]|{_MODE}(,{_MODE})*",
             "is not a mode without special bits that keeps others from writing"),
    "suffix": (r"[A-Za-z0-9._~-]*", "is not a plain suffix"),
    "setting": (r"[A-Za-z0-9][A-Za-z0-9._/-]*", "is not a name of a setting that is only read"),
    "interval": (r"0\.[2-9]\d*|[1-9]\d*(\.\d+)?", "is not an interval of 0.2 seconds or more"),
    "date-format": (r"\+[^`$]*", "is not a format"),
    "signal": (r"(SIG)?(TERM|HUP|INT|KILL|QUIT|USR1|USR2|\d+)", "is not a signal"),
    "kube": (r"(?!.*secret)[a-z][a-z0-9.,-]*(/[A-Za-z0-9.-]+)?",
             "is not a plain kind, or a secret"),
    "target": (r"test|tests|check|lint|build|all|clean|format|docs|help",
               "is not a target that only builds or tests"),
    "nologin": (r"(/usr)?/s?bin/(nologin|false)", "is a shell to log in with"),
    "remote": (r"[A-Za-z0-9_][A-Za-z0-9_.-]*", "is not a plain name of a remote repository"),
    "near-url": (r"(https?://)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[\w./?=&%+,:~-]*)?",
                 "is not a plain address on this host"),
    "reload-url": (r"(http://)?(localhost|127\.0\.0\.1|\[::1\]):\d+/(prometheus/|alertmanager/)?-/reload",
                   "is not where a service of this host is asked to read its configuration"),
    "scaled": (r"[A-Za-z0-9][\w.-]*=([1-9]|1\d|20)", "is not a service and at most 20 containers"),
    "dh-file": (r"/etc/(nginx|haproxy|apache2|postfix|dovecot|ssl)(/(ssl|tls|certs|snippets))?"
                r"/dh(-?params?)?(-?\d+)?\.pem", "is not where the parameters of a server lie"),
    "header": (r"(?i)(?!@)(?!\s*(x-)?(aws-|google-|azure-|oracle-)?(ec2-)?metadata)(?!.*imds).*",
               "is read from a file, or asks a machine for its credentials"),
    "curl-format": (r"(?!@)(?!.*%output\{).*", "is read from or written to a file"),
    "journal-match": (r"_?[A-Z][A-Z_]*=[A-Za-z0-9_.@:/-]+", "is not a FIELD=VALUE"),
    "kube-object": (r"(?!secrets?\b)[A-Za-z0-9][A-Za-z0-9._/-]*",
                    "is not a plain object, or a secret"),
    "git-key": (r"(?i)(?!.*(token|pass|secret|header|credential|url))"
                r"[a-z][a-z0-9-]*(\.[^\s]+)?\.[a-z][a-z0-9-]*",
                "is not a plain key, or one that may hold a secret"),
    "sudoers": (r"/etc/sudoers(\.d/[\w-]+)?", "is not one of the files of sudo"),
    "rsync-target": (r"(?![-:])(?!.*::)(([\w.-]+@)?[A-Za-z0-9][\w.-]*:)?[\w./~-]*",
                     "is not a plain place"),
    "local-archive": (r"(?![-])[\w./~-]+(::[\w.:@+-]+)?", "is not an archive on this host"),
    "checksums": (r"(?!-).*(SUMS|\.(sha\d*|md5|b2)(sums?)?)", "is not a list of checksums"),
    "kube-output": (r"wide|yaml|json|name"
                    r"|(jsonpath(-as-json)?|custom-columns|go-template)=(?!.*env).*",
                    "is not a form of output, or is read from a file"),
    "system-program": (r"/(usr/)?(local/)?s?bin/[\w.+-]+|/(usr/)?lib(64)?/(?!.*\.\.)[\w./+-]+",
                       "does not lie where the system keeps its programs"),
    "container-fact": (rf"([^{{}}]|{_FACT})*", "may show the environment of the container"),
    # rpm expands `%(…)` and `%{lua:…}` in the names of files and packages
    "rpm-name": (r"[^%]*", "holds a `%`, and rpm runs macros"),
    "rpm-format": (r"([^%]|%%|%-?\d*\{[A-Z0-9_]+(:[a-z]+)?\})*",
                   "is not a format of plain tags, and rpm runs macros"),
    "asked-socket": (r"(?i:unix-connect:|unix:)?/(var/)?run/haproxy[\w/-]*\.(sock|socket|stat)"
                     r"|(?i:tcp4?|tcp4?-connect):(localhost|127\.0\.0\.1):\d+",
                     "is not a socket that is known to answer questions"),
    "find-place": (r"[^-].*|[!(),]", "is not a place"),
}  # fmt: skip


_HOLDS_NUMBERS = frozenset({"number", "count", "few-processes", "name", "names", "suffix"})
"""Forms that every number fits, whatever it is."""
_HOLDS_PATTERNS = frozenset({"kube-output", "processes"})
"""Forms in which a pattern for file names is none: no file has such a name."""


def of_form(name: str) -> Kind:
    """The kind of that name."""
    form, why = FORMS[name]
    return made_of(form, why, name)


def made_of(form: str, why: str, name: str = "") -> Kind:
    """A kind of words of one form; `why` is what others are told."""
    pattern = re.compile(form, re.DOTALL)

    def kind(word: Word, ground: Ground) -> str | None:
        del ground
        text = word.literal
        if text is None and name in _HOLDS_NUMBERS and word.lacks_numbers and not word.splits:
            text = word.with_placeholder("7")
        elif text is None and name in _HOLDS_PATTERNS and not word.unknown:
            text = word.with_placeholder("")
        if text is None:
            return f"{word} is known only when it runs"
        return None if pattern.fullmatch(text) else f"{word} {why}"

    return kind
