"""The kinds of operands of the profile `configure`: places, names and values that it may set."""

import re
from collections.abc import Callable

from shared.guard.paths import canonical
from shared.guard.policy.ground import Ground, Kind
from shared.guard.words import Word

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
    |CREATE\ (?:USER|ROLE)\ {_SQL_NAME}(?:\ WITH)?(?:\ {_ROLE_OPTION})*
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
    |SELECT\ pg_reload_conf\(\)
"""
_MYSQL_NAME = r"(?:\w+|`\w+`)"
_MYSQL_USER = r"'?\w+'?@'?(?:localhost|127\.0\.0\.1|::1|10\.[\d.%]+|192\.168\.[\d.%]+)'?"
_MYSQL = rf"""
    CREATE\ DATABASE(?:\ IF\ NOT\ EXISTS)?\ {_MYSQL_NAME}
        (?:\ (?:DEFAULT\ )?(?:CHARACTER\ SET|CHARSET|COLLATE)\ =?\ ?\w+)*
    |CREATE\ USER(?:\ IF\ NOT\ EXISTS)?\ {_MYSQL_USER}
        \ IDENTIFIED\ (?:WITH|VIA)\ (?:auth_socket|unix_socket)
    |GRANT\ (?:ALL(?:\ PRIVILEGES)?|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|INDEX|EXECUTE|[,\ ])+?
        \ ON\ (?!mysql\b|`mysql|sys\b|performance_schema\b){_MYSQL_NAME}\.\*\ TO\ {_MYSQL_USER}
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
KERNEL_SETTING = re.compile(_KERNEL)
"""Settings of the kernel that neither run a program, open a way in, nor stop the host."""

FORMS = {
    "locale": (r"(LANG|LC_[A-Z]+|LANGUAGE)=[A-Za-z]\w*([._@-][\w-]+)*", "is not a plain locale"),
    "reread-signal": (r"(SIG)?(HUP|USR1|USR2)", "is not a signal to read or open files again"),
    "process": (r"(?!all\Z)(?!.*replan)[A-Za-z0-9_][\w.-]*(:[\w.-]+)?",
                "is not the plain name of a process"),
    "processes": (r"(?!.*replan)[A-Za-z0-9_][\w.-]*(:[\w.-]+)?",
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
    "maven-setting": (r"skipTests(=true)?|maven\.test\.skip=true",
                      "is not a plain setting of the build"),
    "docker-network": (r"(?!(host|none|container|ns)\b)[A-Za-z0-9][\w.-]*",
                       "shares the network of the host or of another container"),
    "port": (r"((\d+\.\d+\.\d+\.\d+|localhost):)?\d*(-\d+)?:?\d+(-\d+)?(/(tcp|udp))?",
             "is not a plain port"),
    "image": (r"[a-z0-9][\w.:/-]*(@sha256:[0-9a-f]{64})?", "is not a plain name of an image"),
    "plain-group": (rf"(?!({_POWER})\Z)[a-z_][a-z0-9_-]*",
                    "is a group that gives rights over the host"),
    "configuration-mode": (r"0?6(00|40|44)", "is not the mode of a file that root alone writes"),
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
                             rf"|{_NAME}/conf\.d"
                             rf"|systemd/system/{_NAME}\.(service|timer|socket)\.d|logrotate\.d)(/{_NAME})*",
                             "is not a folder of a service's configuration"),
    "configuration-file": (r"/etc/(cron\.d|logrotate\.d|sysctl\.d|systemd/system|nginx/conf\.d"
                           rf"|nginx/sites-available)/{_NAME}",
                           "is not a file of a service's configuration"),
    "log": (rf"{_APPLICATION}/({_NAME}/)*([\w-][\w.-]*|[\w*-][\w.*-]*(\.log|{_ROTATED}))",
            "is not a log of an application"),
    "log-folder": (rf"{_APPLICATION}(/{_NAME})*", "is not the folder of an application's logs"),
    "log-place": (rf"/var/log|{_APPLICATION}(/{_NAME})*|{_PROJECT}(/{_NAME})*/logs?",
                  "is not a place of logs"),
    "release": (rf"{_PROJECT}/releases/{_NAME}", "is not one release of a project"),
    "backups": (rf"/(var/backups|srv/backups?|backups?)(/{_NAME})*|{_PROJECT}(/{_NAME})*/backups?",
                "is not a place of backups"),
    "build-product": (rf"{_PROJECT}(/{_NAME})*/(node_modules|dist|build|target|__pycache__|coverage"
                      r"|tmp/cache"
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


def kinds(of_form: Callable[[str, str], Kind]) -> dict[str, Kind]:
    """Every kind by its name; `of_form` makes one of a form and of what it says otherwise."""
    return {
        **{name: of_form(form, why) for name, (form, why) in FORMS.items()},
        **{name: _place_of(name) for name in _PLACES},
        "kept": _kept,
        "copy-of-it": _copy,
        "docker-mount": _mount,
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
