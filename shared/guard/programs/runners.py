"""What programs take for code: the words, the files beside them, the services that they start."""

import re

_READ = (
    *("cat", "tac", "nl", "rev", "fold", "expand", "unexpand", "paste", "comm", "join", "fmt"),
    *("column", "pr", "head", "tail", "ls", "stat", "file", "wc", "cut", "tr", "sort", "uniq"),
    *("diff", "cmp", "grep", "egrep", "fgrep", "zgrep", "realpath", "readlink", "md5sum"),
    *("sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum"),
    *("base64", "base32", "hexdump", "xxd", "od", "strings", "du", "df", "zcat", "gzcat"),
    *("bzcat", "xzcat", "zstdcat", "tree", "namei", "getfacl", "lsattr", "find", "jq", "openssl"),
    *("lsof", "ssh-keygen", "findmnt", "blkid", "mountpoint", "lsblk", "logger"),
)
"""They read what they are given as data. Of sed and awk the program stands among the words."""

_SHELL = (
    *("echo", "printf", "test", "[", "true", "false", ":", "cd", "pwd", "set", "export"),
    *("readonly", "local", "unset", "read", "type", "hash", "sleep", "seq", "expr", "basename"),
    *("dirname", "which", "whereis", "wait", "trap", "umask", "date", "id", "kill", "exit"),
    *("return", "eval", "command", "getopts", "shift", "break", "continue", "ulimit"),
)

_HANDLE = (
    *("mkdir", "touch", "mktemp", "tee", "cp", "mv", "ln", "install", "chmod", "chown", "chgrp"),
    *("truncate", "dd", "fallocate", "split", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz"),
    *("zstd", "tar", "unzip", "zip", "rsync", "rm", "rmdir", "unlink", "sed", "awk", "gawk"),
    *("mawk", "nawk", "curl", "wget", "git", "shred", "setfacl", "restorecon"),
)
"""They move files about and do not look what is in them. git is steered by other files (below)."""

PLAIN = frozenset((*_READ, *_SHELL, *_HANDLE))
"""Programs to which a file that a plan has written is data. All others may take it for code."""

_FETCHES = frozenset({"curl", "wget", "ab", "http", "https"})

LOOKING = PLAIN - _FETCHES - {"git"}
"""Those of them that neither get pages nor are steered by other files."""

NAMING = frozenset({"systemctl", "service", "journalctl", "docker", "podman", "pgrep", "pidof"})
"""Programs to which a word without a slash is a name, not a file."""

WRITES_NOTHING = frozenset(
    {
        *("systemctl", "service", "kill", "pkill", "killall", "chmod", "chown", "chgrp", "useradd"),
        *("usermod", "groupadd", "userdel", "groupdel", "passwd", "ufw", "firewall-cmd"),
        *("iptables", "ip6tables", "nft", "ip", "sysctl", "hostnamectl", "timedatectl"),
        *("localectl", "mount", "umount", "swapon", "swapoff", "rm", "rmdir", "mkdir", "touch"),
        *("reboot", "shutdown", "ss", "ps", "lsof", "journalctl", "loginctl", "setenforce"),
    }
)
"""Programs that leave no file behind in which others would find code."""

MAKES_EMPTY = frozenset({"mkdir", "touch", "mktemp", "chmod", "chown", "chgrp", "fallocate"})
"""Programs that make places and files without a content."""

COMPRESSORS = frozenset(
    {"gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "compress"}
)
"""Programs that put one file in the place of another, or read their input."""

BRINGERS = frozenset(
    {
        *("git", "tar", "unzip", "rsync", "cp", "mv", "scp", "sftp", "svn", "hg", "7z", "7za"),
        *("cpio", "bsdtar", "unrar", "ar", "dpkg-deb", "install", "curl", "wget", "aria2c"),
        "patch",
    }
)
"""Programs whose paths hold code afterwards, also where only a person can let them run."""

_DATA = re.compile(
    r"(?i)(.*/)?([^/]*\.(log|out|err|pid|csv)"
    r"|(?![^/]*(requi|constrain|cmake|depend|arg|opt|flag|conf|test|list|manifest|packag|includ"
    r"|setup|plugin|script|setting|rule|spec|doc|readme|build|module|pin|freeze|lock))"
    r"[^/*]+\.(txt|md))"
)
"""What nobody reads but people: of texts only those whose names no tool knows."""

_STATIC = re.compile(
    r"(?i)(.*/)?(?!package\.json|composer\.json|(docker-)?compose"
    r"|[^/]*(hook|jobs?\b|task|cron|schedul|workflow|pipeline|command|script|trigger|ecosystem|pm2)"
    r"|nodemon)[^/]*\.(log|out|err|pid|csv|txt"
    r"|md|html?|css|json|ya?ml|toml|properties|png|jpe?g|gif|svg|ico|pdf|gz|tgz|zip|xz|bz2|sql|dump"
    r"|bak|sha256|asc|sig|pub|crt)"
)
_TEMPLATE = re.compile(
    r"(?i)(.*/)?(_?(templates?|views?|layouts?|partials?|includes?|macros?|components?)|jinja2?"
    r"|twig|blade|mustache|handlebars|mailers?)/.*"
    r"|.*\.(j2|jinja2?|twig|ejs|erb|haml|slim|mako|tmpl|tpl|gotmpl|hbs|mustache|liquid|pug|jade|njk"
    r"|ftl|vm|cshtml|razor|phtml|jsp)"
)
"""What an application fills in when it makes a page: a template reaches the code around it."""

_STEERING = re.compile(
    r"(?i)\.[^/]*|.*\.(toml|ini|cfg|json|ya?ml|lock|gradle|kts|props|targets|mod|work|rc|pth|xml"
    r"|mk|bazel|nix|config\.[cm]?[jt]s)|(gnu)?makefile|conftest\.py|setup\.py|noxfile\.py"
    r"|tasks\.py|fabfile\.py|manage\.py|sitecustomize\.py|rakefile|gemfile.*|guardfile|procfile"
    r"|vagrantfile|jenkinsfile|dockerfile.*|containerfile.*|cmakelists\.txt|build|workspace"
    r"|gulpfile.*|gruntfile.*|justfile|taskfile.*|wscript|sconstruct|pipfile|.*requirements.*"
    r"|head|config|hooks|cargo|global\.json|package\.json"
)
_VERSIONS = re.compile(
    r"(?i)rust-toolchain(\.toml)?|\.tool-versions|\.?mise(\..*)?|\..*-version|\.nvmrc|\.sdkmanrc"
    r"|global\.json|ansible\.cfg|go\.(mod|work)|\.cargo(/.*)?|package\.json|\.npmrc|\.yarnrc.*"
    r"|php\.ini|\.envrc|gemfile|\.pnp.*|\.babelrc|pyvenv\.cfg|\*.*"
)
_GIT = re.compile(
    r"(?i)(\.git|head|config(\.worktree)?|objects|refs|hooks|commondir|packed-refs|worktrees"
    r"|modules|info|\*.*)(/.*)?"
)
_PYTHON = re.compile(r"(?i)[^/]+(/(__init__|tool))?\.(py|pyc|so|pyd)|\*.*")
_TOOLS = frozenset(
    {
        *("cargo", "rustc", "rustup", "go", "node", "npm", "npx", "yarn", "pnpm", "python"),
        *("python3", "ruby", "gem", "bundle", "java", "javac", "php", "composer", "dotnet"),
        *("terraform", "ansible", "perl", "pip", "pip3", "helm", "mvn", "gradle", "deno", "bun"),
        *("cmake", "gcc", "make"),
    }
)
_SERVED = re.compile(r"(?i).*\.(php\d?|phtml|phar|jspx?|war|cgi|fcgi|pl|aspx?|ashx|shtml|do)")
_STARTING = frozenset(
    {
        *("start", "restart", "reload", "try-restart", "reload-or-restart", "enable", "up"),
        *("force-reload", "condrestart", "run", "unpause", "kill", "rollout", "reenable"),
    }
)
_STARTERS = frozenset(
    {
        *("systemctl", "service", "docker", "podman", "docker-compose", "podman-compose"),
        *("supervisorctl", "pm2", "rc-service", "initctl", "sv", "monit", "kubectl", "nerdctl"),
    }
)
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_OF_HOST = re.compile(r"(-v|[^/]*[=,])?[./~\\]|.*…")
"""A word that may name a path of the host, or of which a part is not known."""
_HOST_SERVICES = re.compile(
    r"(nginx|apache2|httpd|postgresql.*|mysql|mysqld|mariadb|redis.*|memcached|haproxy|rsyslog"
    r"|chronyd?|ntpd?|named|bind9|unbound|dnsmasq|postfix|dovecot|prometheus.*|grafana.*"
    r"|node_exporter|node-exporter|docker|containerd|varnish|squid|rabbitmq.*|mongod|elasticsearch"
    r"|opensearch|influxdb|vsftpd|smbd|nmbd|cron|crond|atd|fail2ban|logrotate|certbot)"
    r"(@.*)?(\.(service|socket|timer))?"
)


def is_data(path: str) -> bool:
    """Whether nobody looks for code in a file of that name, unless it is named to a program."""
    return _DATA.fullmatch(path) is not None


def is_static(path: str) -> bool:
    """Whether a service that reads the file finds no code in it."""
    return _STATIC.fullmatch(path) is not None and not is_template(path)


def is_template(path: str) -> bool:
    """Whether an application may fill in the file when it makes a page."""
    return _TEMPLATE.fullmatch(path) is not None


def steers(name: str) -> bool:
    """Whether tools that build, test or run look for a file of that name in folders above."""
    return _STEERING.fullmatch(name) is not None


def is_served(path: str) -> bool:
    """Whether a server of pages runs the file when somebody gets it."""
    return _SERVED.fullmatch(path) is not None


def fetches(program: str) -> bool:
    """Whether a program gets pages."""
    return program in _FETCHES


def steered_by(program: str, words: tuple[str, ...]) -> re.Pattern[str] | None:
    """The names in the working directory with which a program that only looks runs other code.

    They count relative to the directory and to those above it. None: it looks at none.
    """
    if program == "git":
        return _GIT
    if program in ("python", "python3") and "-m" in " ".join(words):
        return _PYTHON
    return _VERSIONS if program in _TOOLS else None


def starts(program: str, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The services that a program starts, without those that run no code of projects.

    Empty: one that is not named. None: it starts none.
    """
    if program not in _STARTERS or not _STARTING & set(words):
        return None
    if program in _CONTAINERS and words[:1] == ("run",) and not any(map(_OF_HOST.match, words)):
        return None  # a new container, which runs what its image holds
    plain = [word for word in words if not word.startswith("-")]
    named = tuple(
        word for word in plain if word not in _STARTING and not _HOST_SERVICES.fullmatch(word)
    )
    others = [word for word in plain if _HOST_SERVICES.fullmatch(word)]
    return None if others and not named else named
