"""The kinds of operands of the profile `configure`: places, names and values that it may set."""

import re
from collections.abc import Callable

from shared.guard.paths import canonical
from shared.guard.policy.ground import Ground, Kind
from shared.guard.policy.images import undeclared
from shared.guard.words import Word, literal_word

_NAME = r"[A-Za-z0-9_][\w.+@-]*"
_APPLICATION = rf"/var/log/(?!(?:audit|journal|private|installer|sudo)\b){_NAME}"
_PROJECT = rf"/(?:srv|opt|var/www)/{_NAME}"
_ROTATED = r"(?:\.gz|\.xz|\.bz2|\.zst|\.old|\.\d{1,3}|\.log\.\*|-\d{8}|\.gz\.\*)"
_POWER = (
    r"root|sudo|wheel|adm|admin|docker|podman|lxd|lxc|incus.*|libvirt.*|kvm|disk|shadow|kmem|mem|tty"
    r"|sys|daemon|bin|operator|staff|backup|input|video|render|plugdev|netdev|dialout|wireshark"
    r"|ssl-cert|systemd-.*|polkitd|sssd|microk8s|postgres|mysql|redis|puppet|salt|ansible|replan.*"
    r"|crontab|mail|utmp|ssh.*|_ssh|cdrom|floppy|tape|audio|bluetooth|scanner|nogroup|users|wireguard"
)
_KEYS = r"ssh|ssl|pki|letsencrypt|sudoers\.d|wireguard|openvpn|ipsec\.d|kubernetes|security|apt"
_OF_A_COPY = rf"/etc(/{_NAME})+[.~_-](bak|orig|old|save|backup|\0|\d[\d.-]*)[\w.\0-]*"
_ROLE_OPTION = (
    r"(?:NO(?:SUPERUSER|CREATEDB|CREATEROLE|INHERIT|LOGIN|REPLICATION|BYPASSRLS)|LOGIN|INHERIT)"
)
_SQL_NAME = r"(?:\w+|\"\w+\")"
_EXTENSION = (
    r"\"?(?:pgcrypto|uuid-ossp|hstore|citext|pg_trgm|btree_gin|btree_gist|pg_stat_statements|unaccent"
    r"|postgis|vector|ltree|tablefunc|intarray|fuzzystrmatch)\"?"
)
_SETTING = (
    r"work_mem|maintenance_work_mem|shared_buffers|effective_cache_size|max_connections|random_page_cost"
    r"|max_wal_size|min_wal_size|checkpoint_timeout|log_min_duration_statement|statement_timeout"
    r"|idle_in_transaction_session_timeout|autovacuum_max_workers|max_worker_processes|wal_buffers"
    r"|max_parallel_workers|max_parallel_workers_per_gather|effective_io_concurrency|huge_pages"
)
_PSQL = rf"""
    CREATE\ DATABASE\ {_SQL_NAME}(?:\ (?:WITH|OWNER\ =?\ ?{_SQL_NAME}|ENCODING\ =?\ ?'[\w-]+'
        |TEMPLATE\ =?\ ?template0|LC_COLLATE\ =?\ ?'[\w.-]+'|LC_CTYPE\ =?\ ?'[\w.-]+'))*
    |CREATE\ (?:USER|ROLE)\ {_SQL_NAME}(?:\ WITH)?(?:\ {_ROLE_OPTION}|\ CONNECTION\ LIMIT\ \d+)*
    |GRANT\ (?:ALL(?:\ PRIVILEGES)?|CONNECT|USAGE|CREATE|SELECT|INSERT|UPDATE|TEMPORARY|[,\ ])+?
        \ ON\ (?:DATABASE|SCHEMA|TABLE|ALL\ (?:TABLES|SEQUENCES)\ IN\ SCHEMA)\ (?!pg_|information_)
        {_SQL_NAME}\ TO\ (?!public\b){_SQL_NAME}
    |CREATE\ EXTENSION(?:\ IF\ NOT\ EXISTS)?\ {_EXTENSION}
    |CREATE\ SCHEMA(?:\ IF\ NOT\ EXISTS)?\ {_SQL_NAME}(?:\ AUTHORIZATION\ {_SQL_NAME})?
    |CREATE(?:\ UNIQUE)?\ INDEX(?:\ CONCURRENTLY)?(?:\ IF\ NOT\ EXISTS)?\ {_SQL_NAME}
        \ ON\ {_SQL_NAME}\ ?\([\w,\ ]+\)
    |ANALYZE(?:\ VERBOSE)?(?:\ {_SQL_NAME})?
    |VACUUM(?:\ ?\((?:ANALYZE|VERBOSE|[,\ ])+\)|\ ANALYZE|\ VERBOSE)*
        (?:\ (?!(?:FULL|FREEZE)\b){_SQL_NAME})?
    |ALTER\ DATABASE\ {_SQL_NAME}\ OWNER\ TO\ (?!postgres\b){_SQL_NAME}
    |ALTER\ SYSTEM\ SET\ (?:{_SETTING})\ ?(?:=|\ TO\ )
        \ ?(?:\d+|'\d+(?:\.\d+)?\ ?[kMGTB]*(?:ms|s|min)?')
    |SELECT\ (?:pg_reload_conf\(\)|pg_rotate_logfile\(\)|pg_cancel_backend\(\d+\))
    |REINDEX\ (?:INDEX|TABLE)\ CONCURRENTLY\ {_SQL_NAME}
    |REFRESH\ MATERIALIZED\ VIEW\ CONCURRENTLY\ {_SQL_NAME}
    |CREATE\ TABLE(?:\ IF\ NOT\ EXISTS)?\ {_SQL_NAME}\ ?\([\w,\ ()]+\)
    |ALTER\ TABLE\ {_SQL_NAME}\ ADD\ COLUMN(?:\ IF\ NOT\ EXISTS)?\ {_SQL_NAME}\ [\w\ ]+(?:\(\d+\))?
"""
_MYSQL_NAME = r"(?:\w+|`\w+`)"
_MYSQL_USER = r"'?\w+'?@'?(?:localhost|127\.0\.0\.1|::1|10\.[\d.%]+|192\.168\.[\d.%]+)'?"
_MYSQL = rf"""
    CREATE\ DATABASE(?:\ IF\ NOT\ EXISTS)?\ {_MYSQL_NAME}
        (?:\ (?:DEFAULT\ )?(?:CHARACTER\ SET|CHARSET|COLLATE)\ =?\ ?\w+)*
    |CREATE\ USER(?:\ IF\ NOT\ EXISTS)?\ {_MYSQL_USER}
        \ IDENTIFIED\ (?:WITH|VIA)\ (?:auth_socket|unix_socket)
    |GRANT\ (?:ALL(?:\ PRIVILEGES)?|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|INDEX|EXECUTE
        |SHOW\ VIEW|[,\ ])+?
        \ ON\ (?!mysql\b|`mysql|sys\b|performance_schema\b){_MYSQL_NAME}\.\*\ TO\ {_MYSQL_USER}
    |SET\ GLOBAL\ (?:(?:slow_query_log|long_query_time)\ ?=\ ?(?:ON|OFF|\d+(?:\.\d+)?)
        |max_connections\ ?=\ ?[1-9]\d{{2,}})
    |KILL(?:\ QUERY|\ CONNECTION)?\ \d+
    |ALTER\ TABLE\ {_MYSQL_NAME}\ ADD(?:\ UNIQUE)?\ (?:INDEX|KEY)
        \ {_MYSQL_NAME}\ ?\([\w,\ `]+\)
    |ALTER\ TABLE\ {_MYSQL_NAME}\ ADD\ COLUMN\ {_MYSQL_NAME}\ [\w\ ]+(?:\(\d+\))?
    |CREATE(?:\ UNIQUE)?\ INDEX\ {_MYSQL_NAME}\ ON\ {_MYSQL_NAME}\ ?\([\w,\ `]+\)
    |START\ (?:REPLICA|SLAVE)
    |FLUSH\ (?:PRIVILEGES|LOGS|STATUS|HOSTS)
    |(?:ANALYZE|OPTIMIZE|CHECK)\ TABLE\ {_MYSQL_NAME}(?:\.{_MYSQL_NAME})?
"""
_KERNEL = (
    r"vm\.swappiness=(?:\d\d?|100)|vm\.(?:max_map_count|min_free_kbytes)=\d{5,8}"
    r"|vm\.(?:dirty_ratio|dirty_background_ratio)=[1-9]\d?|vm\.vfs_cache_pressure=\d{2,3}"
    r"|vm\.overcommit_memory=[01]|net\.core\.(?:somaxconn|netdev_max_backlog)=\d{3,6}"
    r"|net\.core\.(?:rmem|wmem)_(?:max|default)=\d{5,9}|net\.core\.default_qdisc=(?:fq|fq_codel)"
    r"|net\.ipv4\.tcp_(?:fin_timeout|keepalive_time|keepalive_intvl|max_syn_backlog|max_tw_buckets)=\d{2,7}"
    r"|net\.ipv4\.tcp_(?:tw_reuse|slow_start_after_idle|window_scaling|syncookies|keepalive_probes|sack)=\d"
    r"|net\.ipv4\.tcp_congestion_control=(?:bbr|cubic)|net\.ipv4\.tcp_[rw]mem=\d+[ \t]+\d+[ \t]+\d+"
    r"|net\.ipv4\.ip_local_port_range=[1-9]\d{3,4}[ \t]+[3-6]\d{4}|net\.ipv4\.ip_nonlocal_bind=[01]"
    r"|fs\.(?:file-max|nr_open|aio-max-nr)=\d{5,9}|fs\.inotify\.max_(?:user_watches|user_instances"
    r"|queued_events)=\d{3,7}|kernel\.(?:pid_max|threads-max)=\d{5,7}"
)
KERNEL_MODULE = (
    r"(?:br_netfilter|overlay|nf_conntrack|ip_vs(?:_(?:rr|wrr|sh))?|tcp_bbr|sch_fq|ip_tables|loop"
    r"|dm_(?:snapshot|thin_pool|mirror)|zram|nfs|nfsd|rbd|vhost_net|softdog)"
)
"""Modules that container engines and file systems need."""
KERNEL_SETTING = re.compile(_KERNEL)
"""Settings of the kernel that neither run a program, open a way in, nor stop the host."""

FORMS = {
    "locale": (r"(LANG|LC_[A-Z]+|LANGUAGE)=[A-Za-z]\w*([._@-][\w-]+)*", "is not a plain locale"),
    "reread-signal": (r"(SIG)?(HUP|USR1|USR2)", "is not a signal to read or open files again"),
    "process": (r"(?!all\Z)(?!.*replan)[A-Za-z0-9_][\w.-]*(:[\w.-]+)?",
                "is not the plain name of a process"),
    "processes": (r"(?!.*replan)[A-Za-z0-9_][\w.-]*(:([\w.-]+|\*))?",
                  "is not the plain name of a process"),
    "kernel-setting": (_KERNEL, "is not a setting of the kernel that is known to do no harm"),
    "sysctl-file": (rf"/etc/sysctl\.d/{_NAME}\.conf", "is not a file of /etc/sysctl.d"),
    "logrotate-file": (rf"/etc/logrotate\.(d/{_NAME}|conf)", "is not a file of logrotate"),
    "old": (r"\+([7-9]|\d{2,4})", "is less than a week"),
    "retention": (r"([7-9]|\d{2,4})d|\d+(weeks?|w|months?|M|years?|y)", "is less than a week"),
    "much": (r"[1-9]\d{2,}M|\d+G", "is less than 100 megabytes"),
    "rotated-name": (rf"[\w*.-]*({_ROTATED}|\.\[0-9\]|\.\[0-9\]\*|\.[0-9]\*)",
                     "is not a name that rotation makes"),
    "name-pattern": (r"[\w*.-]*[\w][\w*.-]*", "names everything"),
    "dump-name": (r"[\w*.-]*\.(dump|sql|bak|tar|tgz|zip|gz|xz|zst|bz2)(\.(gz|xz|zst|bz2))?",
                  "is not a name of a backup"),
    "git-url": (r"(https://|ssh://git@|git@)[A-Za-z0-9][\w.-]*(:\d+/|[:/])[\w.~-][\w./~-]*",
                "is not a plain address of a repository"),
    "go-package": (r"\.(/(?!\.)[\w-]+)*(/\.\.\.)?", "is not a package of the project"),
    "cmake-setting": (r"(CMAKE_BUILD_TYPE|BUILD_TESTING|BUILD_SHARED_LIBS)(:\w+)?=\w+",
                      "is not a plain setting of the build"),
    "maven-setting": (r"skipTests(=true|=false)?|maven\.test\.skip=(true|false)",
                      "is not a plain setting of the build"),
    "docker-network": (r"(?!(host|none|container|ns)\b)[A-Za-z0-9][\w.-]*",
                       "shares the network of the host or of another container"),
    "port": (r"((\d+\.\d+\.\d+\.\d+|localhost):)?\d*(-\d+)?:?\d+(-\d+)?(/(tcp|udp))?",
             "is not a plain port"),
    "plain-group": (rf"(?!({_POWER})\Z)[a-z_][a-z0-9_-]*",
                    "is a group that gives rights over the host"),
    "configuration-mode": (r"0?6(00|40|44)", "is not the mode of a file that root alone writes"),
    "linker-flags": (r"(-s|-w|-X \w[\w./-]*=[\w.:+-]*| )+", "may run another linker"),
    "resource-limit": (r"(MemoryMax|MemoryHigh)=([1-9]\d{2,}M|[1-9]\d*G)"
                       r"|(CPUQuota|CPUWeight|IOWeight|TasksMax)=[1-9]\d{1,3}%?",
                       "is not a plain limit of a service"),
    "much-memory": (r"(?i)[1-9]\d{2,}m|[1-9]\d*g|-1", "is less than 100 megabytes"),
    "stable-channel": (r"([\w.-]+/)?(stable|lts)", "is not a stable channel"),
    "swap-file": (r"/swap(file|\.img|file\d)?", "is not a file for swap"),
    "guest-mount": (r"/(mnt|media|srv/mnt)/[\w.-]+(/[\w.-]+)*", "is not where guests are mounted"),
    "grown": (r"\+\d+(\.\d+)?[MGT]", "does not say by how much it grows"),
    "grown-share": (r"\+\d{1,3}%FREE|\+\d+", "does not say by how much it grows"),
    "volume": (r"/dev/(mapper/)?[\w.-]+(/[\w.-]+)?", "is not a plain volume"),
    "kernel-module": (KERNEL_MODULE, "is not a module that is known to do no harm"),
    "mail-limit": (r"(message_size_limit|mailbox_size_limit|\w+_(limit|lifetime|time|delay))"
                   r" ?= ?[1-9]\d*[smhdw]?", "is not a limit of the mail server"),
    "mail-table": (r"(hash:|lmdb:)?/etc/postfix/(?!.*(sasl|passw))[\w.-]+",
                   "is not a table of the mail server"),
    "project-pattern": (r"/(srv|var/www|opt)/[\w.-]+(/[\w.-]+)*(\(/\.\*\)\?)?",
                        "is not the place of a project"),
    "later": (r"\+?([1-9]|1\d)", "does not give others precedence"),
    "leaf-package": (
        r"(?!.*(-server|-core|libc|ssl))(apache2(-bin|-utils)?|httpd|nginx(-[a-z]+)?|snapd|lxd|telnet"
        r"|ftp|tftp|rsh-client|talk|nis|finger|exim4(-[a-z]+)*|sendmail(-[a-z]+)?|cups(-[a-z]+)*"
        r"|avahi-[a-z]+|bluez|whoopsie|apport|popularity-contest|landscape-[a-z]+|nodejs|npm"
        r"|php\d?(\.\d)?(-[a-z0-9]+)?|ruby[\d.]*|golang(-go)?|default-j(re|dk)(-headless)?"
        r"|openjdk-\d+-j(re|dk)(-headless)?|tmux|htop|mc|nano|vim(-[a-z]+)?|tree|ncdu|jq|git-lfs|zip"
        r"|unzip|lynx|w3m|memcached|haproxy|varnish|squid|certbot|ansible|cowsay|figlet|screen|iotop"
        r"|nmap|tcpdump|strace)",
        "is not a package on which nothing depends",
    ),
    "cache-key": (r"(?i)(\w+:)?(page_?)?cache[:/][\w:./-]+", "is not a key of a cache"),
    "own-name": (r"(?!localhost)[A-Za-z0-9][A-Za-z0-9.-]*", "is not a name of its own for a host"),
    "broker-account": (r"(?!guest\Z)[\w.-]+", "is not a plain account of its own"),
    "logrotate-fragment": (rf"/etc/logrotate\.d/{_NAME}", "is not the rotation of one service"),
    "labelled": (r"/(?:srv|opt|var/www|var/log|home|var/lib|etc)/[\w.-][\w./-]*(?:/\*)?",
                 "is not one folder of a service"),
    "container-variable": (r"(?i)(?!.*(allow_?empty|allow_?anonymous|no_?auth|disable_?auth"
                           r"|trust|pass|secret|token|key)).*",
                           "may leave the container open, or hold a secret"),
    "owner-or-root": (r"root|[a-z_][a-z0-9_-]*", "is not a plain name of an account"),
    "snapshot-name": (r"\w[\w./-]*@[\w.:-]+", "is not the name of a snapshot"),
    "local-repository": (r"/(?:srv|var/backups|backups?|mnt|data)/[\w./-]+|/backups?",
                         "is not a repository of backups on this host"),
    "vacuum-or-analyze": (r"(?i)\s*(vacuum|analyze|pragma (optimize|\w+_check))\s*;?\s*",
                          "may do more than tidy up"),
    "replicas": (r"[1-9]\d?", "is not a plain number of replicas"),
    "kube-labelled": (r"nodes?|pods?|po|deploy(ment)?s?|svc|services?|ing(ress(es)?)?|no|sts|ds|cm",
                      "is not a kind of object whose labels give no rights"),
    "kube-label": (r"(?!.*(pod-security|node-role|node-restriction|iam|role-arn|service-account"
                   r"|auth|snippet|admission|webhook|kubectl\.kubernetes))[A-Za-z0-9][\w./-]*(=[\w./:-]*|-)",
                   "is not a plain label, or gives rights"),
    "plain-namespace": (r"(?!kube-|default\Z)[a-z0-9][a-z0-9-]*", "is not a plain name"),
    "near-port": (r"(localhost|127\.0\.0\.1|\[::1\]):\d+", "is another host"),
    "python-object": (r"[A-Za-z_]\w*(\.\w+)*(:\w+(\(\))?)?", "is not a plain object of a module"),
    "acl": (r"((d|default):)?(u|g|user|group|m|mask):[a-z_][\w-]*:[rwxX-]{0,3}"
            r"(,((d|default):)?(u|g|user|group|m|mask):[a-z_][\w-]*:[rwxX-]{0,3})*",
            "is not a plain rule for an account or a group"),
}  # fmt: skip
"""Kinds that are a form of their text alone."""

_PLACES = {
    "available-site": (rf"/etc/(nginx|apache2)/(sites|conf|modules|mods)-available/{_NAME}",
                       "is not a site that is available"),
    "enabled-site": (rf"/etc/(nginx|apache2)/(sites|conf)-enabled(/{_NAME})?",
                     "is not where sites are enabled"),
    "default-site": (r"/etc/nginx/sites-enabled/default(\.conf)?|/etc/nginx/conf\.d/default\.conf"
                     r"|/etc/apache2/sites-enabled/000-default\.conf",
                     "is not the site that the distribution ships"),
    "configuration-folder": (r"/etc/(nginx|apache2|haproxy|php|postgresql|mysql|redis|prometheus"
                             rf"|apt/keyrings|docker|{_NAME}/conf\.d"
                             rf"|systemd/system/{_NAME}\.(service|timer|socket)\.d|logrotate\.d)(/{_NAME})*"
                             rf"|/var/cache/{_NAME}/{_NAME}(/{_NAME})*",
                             "is not a folder of a service's configuration"),
    "configuration-file": (r"/etc/(cron\.d|logrotate\.d|sysctl\.d|systemd/system|nginx/conf\.d"
                           rf"|nginx/sites-available)/{_NAME}",
                           "is not a file of a service's configuration"),
    "log": (rf"{_APPLICATION}/({_NAME}/)*([\w-][\w.-]*|[\w*-][\w.*-]*(\.log|{_ROTATED}))",
            "is not a log of an application"),
    "log-folder": (rf"{_APPLICATION}(/{_NAME})*", "is not the folder of an application's logs"),
    "log-place": (rf"/var/log|{_APPLICATION}(/{_NAME})*|{_PROJECT}(/{_NAME})*/logs?",
                  "is not a place of logs"),
    "built": (rf"(?:~|\ue000|{_PROJECT})(/{_NAME})*/(bin|dist|build|out|target)/{_NAME}"
              rf"|{_PROJECT}/{_NAME}|\./((bin|dist|build|out|target)/)?{_NAME}",
              "is not where a project puts what it builds"),
    "release": (rf"{_PROJECT}/releases/{_NAME}", "is not one release of a project"),
    "backups": (rf"/(var/backups|srv/backups?|backups?)(/{_NAME})*|{_PROJECT}(/{_NAME})*/backups?",
                "is not a place of backups"),
    "made-again": (rf"{_PROJECT}(/{_NAME})*/(tmp|cache|caches|tmp/cache|var/cache|sessions)",
                   "is not a folder of what is made again"),
    "service-cache": (rf"/var/cache/{_NAME}/{_NAME}(/{_NAME})*(/\*)?",
                      "is not the cache of a service"),
    "build-product": (rf"{_PROJECT}(/{_NAME})*/(node_modules|dist|build|target|__pycache__|coverage"
                      r"|tmp/cache|cache|public/packs-test"
                      r"|\.cache|\.next|\.pytest_cache)(/\*)?", "is not what a build makes again"),
}  # fmt: skip


def _place_of(name: str) -> Kind:
    form, why = _PLACES[name]
    pattern = re.compile(form)

    def kind(word: Word, ground: Ground) -> str | None:
        if word.unknown:
            return f"{word} is known only when it runs"
        for directory in ground.directories:
            shown = canonical(word, directory).with_placeholder("\0")
            if not pattern.fullmatch(shown):
                return f"{word} {why}"
        return None

    return kind


def _kept(word: Word, ground: Ground) -> str | None:
    """A file or a folder of which a copy may be kept beside it."""
    path = word.literal
    if path is None or not re.fullmatch(rf"/etc(/{_NAME})+", path):
        return f"{word} is not below /etc"
    if re.search(r"/(sites-enabled|conf-enabled|interfaces\.d|cron\.\w+|init\.d)/", path):
        return f"what is copied beside {word} is read as well"
    if re.fullmatch(rf"/etc/({_KEYS})", path):
        return f"{word} holds keys"
    return ground.territory.secret_in(word, ground.directories)


def _image(word: Word, ground: Ground) -> str | None:
    """An image of the engine's own library, one built on the host, or a declared one."""
    if word.literal is None:
        return f"{word} is known only when it runs"
    return undeclared(word.literal, ground.territory.images)


def _daemon_number(word: Word, ground: Ground) -> str | None:
    """The number of a process that a daemon has written to its own file."""
    del ground
    of_files = all(maker.program == "cat" for maker in word.makers)
    if word.lacks_numbers and word.makers and of_files:
        return None
    return f"{word} is not the number in the file of a daemon"


def _container_file(word: Word, ground: Ground) -> str | None:
    """`NAME:/path` of a file that could be read on a host, too."""
    name, colon, path = str(word).partition(":")
    if word.literal is None or not colon or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        return f"{word} is not a plain file of a container"
    if not path.startswith("/") or path.endswith("/"):
        return f"{word} is not a plain file of a container"
    return ground.territory.no_read(literal_word(path), ground.directories)


def _mount(word: Word, ground: Ground) -> str | None:
    """`VOLUME:/path`, or `FOLDER:/path` with a folder of a project."""
    del ground
    source, colon, rest = str(word).partition(":")
    if word.literal is None or not colon or not re.fullmatch(r"/[\w./-]*(:[a-zA-Z,]+)?", rest):
        return f"{word} is not a plain mount"
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*", source):
        return None
    if not re.fullmatch(rf"{_PROJECT}(/{_NAME})*/?|\./[\w][\w./-]*", source) or ".." in source:
        return f"{source} is not a folder of a project"
    return None


def _sql(form: str) -> Kind:
    pattern = re.compile(f"(?:{form})", re.VERBOSE | re.IGNORECASE)

    def kind(word: Word, ground: Ground) -> str | None:
        del ground
        text = word.literal
        if text is None:
            return "the SQL that it runs is known only when it runs"
        for statement in text.strip().rstrip(";").split(";"):
            if not pattern.fullmatch(re.sub(r"\s+", " ", statement.strip())):
                return f"the SQL may do more than make something: {statement.strip()[:80]}"
        return None

    return kind


def kinds(of_form: Callable[[str, str, str], Kind]) -> dict[str, Kind]:
    """Every kind by its name; `of_form` makes one of a form, what it says, and its name."""
    return {
        **{name: of_form(form, why, name) for name, (form, why) in FORMS.items()},
        **{name: _place_of(name) for name in _PLACES},
        "kept": _kept,
        "copy-of-it": _copy,
        "docker-mount": _mount,
        "image": _image,
        "daemon-number": _daemon_number,
        "container-file": _container_file,
        "psql-makes": _sql(_PSQL),
        "mysql-makes": _sql(_MYSQL),
    }


def _copy(word: Word, ground: Ground) -> str | None:
    """A name that says that it is a copy; the operand before it is what it copies."""
    del ground
    found = re.fullmatch(_OF_A_COPY, word.with_placeholder("\0"))
    return None if found else f"{word} is not a name of a copy"


def is_copy_of(copy: Word, original: Word) -> bool:
    """Whether the copy lies beside the original, under its name with an ending."""
    name = original.literal
    return (
        name is not None
        and re.match(r"[.~_-]", copy.prefix[len(name) :]) is not None
        and (copy.prefix.startswith(name) and "/" not in copy.with_placeholder("")[len(name) :])
    )
