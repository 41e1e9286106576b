"""Reads texts of configuration: what they would run, and whether they only set what is known."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shared.guard.policy.configure_kinds import KERNEL_MODULE, KERNEL_SETTING


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text of configuration does: `why` it may do more than is known, else empty.

    `commands` are those that it would run, each to be judged by itself; `as_root`: some of them
    with all rights.
    """

    why: str = ""
    commands: tuple[str, ...] = ()
    as_root: bool = False


Language = Callable[[str], Reading]

_NAME = r"[A-Za-z0-9_][\w.+@-]*"
_ACCOUNT = r"[a-z_][a-z0-9_-]*"
_OF_PROJECT = rf"/(?:srv|opt|var/www)/{_NAME}(?:/{_NAME})*"
_LOGS = rf"(?:/var/log/(?!audit|journal|private){_NAME}|{_OF_PROJECT})(?:/[\w*-][\w.*-]*)+"
_SHORTCUT = r"@(?:hourly|daily|weekly|monthly|yearly|annually|midnight|reboot)"
_FIELD = r"[\d*,/A-Za-z-]+"
_JOB = re.compile(rf"(?:(?:{_FIELD}[ \t]+){{5}}|{_SHORTCUT}[ \t]+)({_ACCOUNT})[ \t]+(\S.*)")
_CRON_SETTING = re.compile(
    r"(?:SHELL=/bin/sh|MAILTO=[\w@.\"'-]*|PATH=(?:/usr/local/s?bin|/usr/s?bin|/s?bin|:)+"
    r"|LANG=[\w.-]+|LC_ALL=[\w.-]+|TZ=[\w/+-]+)\s*"
)
_ROTATION = re.compile(
    r"daily|weekly|monthly|yearly|hourly|rotate [1-9]\d*|(?:min|max)?size \d+[kMG]?|maxage ([7-9]"
    r"|\d{2,})"
    rf"|(?:no)?compress|(?:no)?delaycompress|missingok|nomissingok|(?:not|)ifempty|copytruncate"
    rf"|nocopytruncate"
    rf"|create(?: 0?[0-7][0-7][0145](?: {_ACCOUNT} {_ACCOUNT})?)?|nocreate|sharedscripts"
    rf"|nosharedscripts"
    rf"|dateext|nodateext|dateformat [\w.%-]+|dateyesterday|su {_ACCOUNT} {_ACCOUNT}|nomail"
    rf"|start \d+"
)
_LOG_NAMES = re.compile(rf"(?:\"?{_LOGS}\"?\s*)+\{{")
_HOOKS = re.compile(r"(?:pre|post)rotate|(?:first|last)action")
_UNIT_NAME = r"[A-Za-z0-9@][\w@.:-]*"
_NEEDED = (
    r"(?:(?:network|network-online|remote-fs|nss-lookup|time-sync)\.target"
    rf"|(?!systemd|.*(?:reboot|poweroff|halt|kexec|suspend|rescue|emergency)){_NAME}\.(?:service|socket))"
)
_SECTION = re.compile(r"\[(Unit|Service|Install|Timer)\]")
_COMMAND_KEY = re.compile(r"Exec(?:StartPre|StartPost|Start|Reload|StopPost|Stop|Condition)")
_NUMBER = r"[\d.]+\s*[A-Za-z%]*|infinity"
_UNIT_LINES = re.compile(
    rf"(?:Description|Documentation|OnCalendar)=[^\\]*"
    rf"|(?:After|Before)=(?:{_UNIT_NAME}\s*)*|(?:Wants|Requires|BindsTo|PartOf)=(?:{_NEEDED}\s*)*"
    rf"|WantedBy=(?:multi-user|timers|default|sockets|network-online)\.target"
    r"|Type=(?:simple|exec|forking|oneshot|notify|idle)|Restart=(?:no|always|on-failure"
    r"|on-abnormal|on-success)"
    rf"|(?:User|Group)={_ACCOUNT}|SupplementaryGroups=www-data"
    rf"|(?:WorkingDirectory|EnvironmentFile)=-?{_OF_PROJECT}|Environment=.*"
    rf"|(?:Condition|Assert)Path(?:Exists|IsDirectory)=!?/[\w./-]+"
    rf"|(?:Limit(?:NOFILE|NPROC|CORE|MEMLOCK)|RestartSec|Timeout\w*Sec|StartLimit\w+|MemoryMax"
    rf"|MemoryHigh"
    rf"|CPUQuota|CPUWeight|TasksMax|Nice|WatchdogSec|RuntimeMaxSec|OnBootSec|OnUnitActiveSec"
    rf"|OnUnitInactiveSec"
    rf"|OnStartupSec|AccuracySec|RandomizedDelaySec|IOWeight)=(?:{_NUMBER})(?::\d+)?"
    rf"|Standard(?:Output|Error)=(?:journal|null|syslog|inherit|append:{_LOGS})"
    rf"|SyslogIdentifier={_NAME}"
    rf"|(?:RuntimeDirectory|StateDirectory|LogsDirectory|CacheDirectory)={_NAME}"
    rf"|PIDFile=/run/[\w./-]+\.pid"
    r"|KillMode=(?:process|mixed|control-group)|KillSignal=SIG(?:TERM|INT|QUIT|HUP)|UMask=0?0[0-7]7"
    r"|(?:PrivateTmp|PrivateDevices|NoNewPrivileges|ProtectHome|ProtectKernelTunables"
    r"|ProtectKernelModules"
    r"|ProtectControlGroups|ProtectClock|ProtectHostname|ProtectKernelLogs|RestrictSUIDSGID"
    r"|RestrictRealtime"
    r"|LockPersonality|MemoryDenyWriteExecute|RestrictNamespaces|Persistent|RemainAfterExit"
    r"|SendSIGHUP"
    r"|WakeSystem)=(?:true|yes|on|1|read-only)|ProtectSystem=(?:full|strict|true|yes)"
    rf"|ReadWritePaths=(?:{_OF_PROJECT}\s*)+|AmbientCapabilities=CAP_NET_BIND_SERVICE|Unit={_NEEDED}"
    r"|CapabilityBoundingSet=(?:CAP_NET_BIND_SERVICE)?|Persistent=(?:true|false|yes|no)"
)
_VARIABLE = (
    r"(?!LD_|PYTHON|NODE_OPTIONS|PERL|RUBY|BASH|PATH|IFS|JAVA_TOOL|JDK_|GIT_|REPLAN|PHP|GCONV)"
    r"[A-Z][A-Z0-9_]*="
)
_PLAIN_VARIABLE = re.compile(rf"{_VARIABLE}[^\s\"\\'%]*|\"{_VARIABLE}[^\"\\'%]*\"")
_PLAIN_COMMAND = re.compile(r"-?/[\w./-]+(?:[ ][\w./=:@+,${}\"'-]+)*")
"""Systemd reads other signs in its own way, not as a shell does."""
_OF_ROOT = frozenset({"", "root", "toor"})


def cron(text: str) -> Reading:
    """A file of /etc/cron.d: its jobs are commands."""
    commands = []
    accounts = set()
    for line in _lines(text, "#"):
        if _CRON_SETTING.fullmatch(line):
            continue
        job = _JOB.fullmatch(line)
        if job is None:
            return Reading(f"the line is not a plain job: {line[:80]}")
        if "%" in job[2].replace("\\%", ""):
            return Reading("a % in a job begins its input")
        commands.append(job[2].replace("\\%", "%"))
        accounts.add(job[1])
    return Reading(commands=tuple(commands), as_root=bool(accounts & _OF_ROOT))


def logrotate(text: str) -> Reading:
    """A file of /etc/logrotate.d, without commands of its own but those that the guard allows."""
    commands: list[str] = []
    script: list[str] = []
    inside = hook = False
    for line in _lines(text, "#"):
        if hook:
            hook = line != "endscript"
            script.append(line if hook else "")
            commands += [] if hook else ["\n".join(script)]
        elif not inside and _LOG_NAMES.fullmatch(line):
            inside = True
        elif inside and line == "}":
            inside = False
        elif inside and _HOOKS.fullmatch(line):
            hook, script = True, []
        elif not (inside and _ROTATION.fullmatch(re.sub(r"\s+", " ", line))):
            return Reading(f"the line does more than rotate logs: {line[:80]}")
    return Reading(
        "a part of it has no end" if inside or hook else "", tuple(commands), as_root=True
    )


def sysctl(text: str) -> Reading:
    """Settings of the kernel."""
    for line in _lines(text, "#;"):
        key, _, value = line.partition("=")
        if not KERNEL_SETTING.fullmatch(f"{key.strip().lstrip('-')}={value.strip()}"):
            return Reading(f"the setting of the kernel is not known to do no harm: {line[:80]}")
    return Reading()


def unit(text: str) -> Reading:
    """A unit of systemd, or a part of one: what it runs are commands, not as root if code."""
    commands = []
    account = ""
    for line in _lines(text, "#;"):
        key, _, value = line.partition("=")
        if line.endswith("\\"):
            return Reading(f"the line goes on: {line[:80]}")
        if _COMMAND_KEY.fullmatch(key):
            commands += [value.removeprefix("-")] if value else []
            if value and not _PLAIN_COMMAND.fullmatch(value):
                return Reading(f"what it runs is not a plain command with its path: {value[:80]}")
        elif key == "Environment" and not _PLAIN_VARIABLE.fullmatch(value):
            return Reading(f"the variable may steer a program: {value[:80]}")
        elif not (_SECTION.fullmatch(line) or _UNIT_LINES.fullmatch(line)):
            return Reading(f"the line is not known to do no harm: {line[:80]}")
        account = value if key == "User" else account
    return Reading(commands=tuple(commands), as_root=account in _OF_ROOT)


_SETTINGS: dict[str, str] = {
    "postgresql": r"work_mem|maintenance_work_mem|shared_buffers|effective_cache_size"
    r"|max_connections"
    r"|random_page_cost|max_wal_size|min_wal_size|checkpoint_timeout|checkpoint_completion_target"
    r"|log_min_duration_statement|statement_timeout|autovacuum_max_workers|max_worker_processes"
    r"|wal_buffers|max_parallel_workers\w*|effective_io_concurrency|log_connections|log_lock_waits"
    r"|timezone|lc_\w+|wal_level|max_wal_senders|max_replication_slots|default_statistics_target"
    r"|port",
    "php": r"memory_limit|upload_max_filesize|post_max_size|max_execution_time|max_input_time"
    r"|max_input_vars"
    r"|date\.timezone|expose_php|display_errors|log_errors|opcache\.(?:enable|memory_consumption"
    r"|max_accelerated_files|revalidate_freq|validate_timestamps|interned_strings_buffer)"
    r"|pm\.?\w*|request_terminate_timeout|default_charset|session\.gc_maxlifetime|max_file_uploads",
    "redis": r"maxmemory|maxmemory-policy|maxclients|timeout|tcp-keepalive|tcp-backlog|appendonly"
    r"|appendfsync"
    r"|save|loglevel|bind (?:127\.0\.0\.1|::1| )*\Z|databases|supervised|maxmemory-samples"
    r"|lazyfree-lazy-\w+|activedefrag",
    "mysql": r"innodb_(?:buffer_pool_size|buffer_pool_instances|log_file_size"
    r"|flush_log_at_trx_commit|io_capacity)"
    r"|max_connections|slow_query_log|long_query_time|max_allowed_packet|table_open_cache"
    r"|thread_cache_size"
    r"|tmp_table_size|max_heap_table_size|character-set-server|collation-server|wait_timeout"
    r"|key_buffer_size",
    "journald": r"Max(?:Retention|File)Sec|Compress|ForwardToSyslog|RateLimit\w+|MaxLevel\w+"
    r"|Seal|SyncIntervalSec|(?:System|Runtime)Max(?:FileSize|Files)|(?:System|Runtime)(?:MaxUse|KeepFree)=(?=[1-9]\d{2,}M|[1-9]\d*G)"
    r"|Storage=(?=persistent|auto)",
    "limits": rf"(?!root\b){_ACCOUNT}\s+(?:soft|hard|-)\s+(?:nofile|nproc|memlock|core|stack|as)\s+"
    r"(?=(?:[1-9]\d{3,}|unlimited)\s*$)",
    "haproxy": r"(?:frontend|backend|listen)\s+[\w.-]+|maxconn\s+\d+|timeout\s+[a-z-]+\s+\d+\w*"
    r"|balance\s+(?:roundrobin|leastconn|source|first|static-rr)|mode\s+(?:http|tcp)"
    r"|server\s+[\w.-]+\s+(?!169\.254\.)[\w.:-]+(?:\s+(?:check|backup|disabled"
    r"|(?:weight|maxconn|inter|fall|rise)\s+\w+))*"
    r"|option\s+(?:httplog|tcplog|forwardfor|redispatch|dontlognull|http-server-close|http-keep-alive"
    r"|httpchk(?:\s+GET\s+[\w/.-]+)?)|retries\s+\d+|default_backend\s+[\w.-]+"
    r"|use_backend\s+[\w.-]+\s+if\s+[\w ]+|acl\s+\w+\s+(?:path_beg|path_end|path|hdr\(host\)|src)"
    r"\s+(?:-i\s+)?[\w./: -]+|http-request\s+redirect\s+scheme\s+https[\w !{}_]*"
    r"|(?:global|defaults)",
}
_SECTIONS = re.compile(
    r"\[(?:mysqld|mariadb|server|client|mysql|PHP|www|Journal|[a-z][a-z0-9-]{0,30})\]"
)
"""The heads of sections: of a pool of PHP any name."""
_OF_WHOLE_LINES = frozenset({"limits", "haproxy", "journald"})
_VALUE = r"[\w.,'\":%+ -]*"


def settings(service: str) -> Language:
    """Lines `KEY = VALUE` or `KEY VALUE` of a service, of which each key is known to do no harm."""
    between = r"(?:\s*=\s*|\s*)" if service in _OF_WHOLE_LINES else r"(?:\s*=\s*|\s+)"
    line_form = re.compile(rf"(?:{_SETTINGS[service]}){between}(?:{_VALUE})")

    def read(text: str) -> Reading:
        for line in _lines(text, "#;"):
            if _SECTIONS.fullmatch(line):
                continue
            if not line_form.fullmatch(line):
                return Reading(f"the setting is not known to do no harm: {line[:80]}")
        return Reading()

    return read


_WEB_PATH = rf"(?:{_OF_PROJECT}|/usr/share/nginx/html|/var/lib/letsencrypt|/var/cache/nginx)/?"
_WEB_LOG = r"off|/var/log/nginx/[\w.-]+(?: [\w=]+)*"
_CERTIFICATE = r"/etc/(?:letsencrypt/live|ssl|nginx|pki)/(?!.*\.\.)[\w./-]+"
_SOCKET = (
    r"unix:/(?:var/)?run/(?!docker|containerd|systemd|dbus|podman|crio|snapd|lxd|libvirt|user)"
    r"\w[\w.-]*(?:/\w[\w.-]*)*\.sock(?::\w*)?"
)
_UPSTREAM = rf"https?://(?!169\.254\.)[\w.:-]+(?:/[\w./$-]*)?|{_SOCKET}|(?!169\.254\.)[\w.-]+:\d+"
_OF_SERVER = "(?:weight|max_fails|fail_timeout|backup|down)"
_DIRECTIVES: tuple[tuple[str, str], ...] = (
    ("root|alias", _WEB_PATH),
    ("access_log|error_log", _WEB_LOG),
    (r"ssl_(?:certificate|certificate_key|trusted_certificate|dhparam)", _CERTIFICATE),
    ("include", r"(?:/etc/nginx/)?(?!.*\.\.)[\w-][\w./*-]*"),
    (r"(?:proxy|fastcgi|uwsgi|scgi)_pass", _UPSTREAM),
    ("server", rf"(?:{_UPSTREAM}|(?!169\.254\.)[\w.:-]+)(?: {_OF_SERVER}[=\w]*)*"),
    (r"proxy_(?:set_header|hide_header|pass_header)|add_header|fastcgi_param"
     r"|uwsgi_param", r"[^{}]*"),
    (r"server_name|listen|index|try_files|return|rewrite|error_page|location|default_type|charset"
     r"|types"
     r"|http|events|server|upstream|if|limit_except|map|set|allow|deny|internal|keepalive|ip_hash"
     r"|least_conn"
     r"|worker_(?:processes|connections|rlimit_nofile)|multi_accept|sendfile|tcp_no(?:push|delay)"
     r"|server_tokens"
     r"|keepalive_(?:timeout|requests)|client_[\w]+_(?:size|timeout|buffers)|client_max_body_size"
     r"|gzip\w*|expires|etag|ssl_(?:protocols|ciphers|prefer_server_ciphers|session_\w+"
     r"|stapling\w*)"
     r"|proxy_(?:http_version|\w+_timeout|buffering|buffers|buffer_size|busy_buffers_size"
     r"|redirect|cache_bypass"
     r"|next_upstream\w*|request_buffering|ssl_server_name|read_timeout)|fastcgi_(?:index"
     r"|\w+_timeout|buffers"
     r"|buffer_size|split_path_info)|limit_(?:req|conn)\w*|stub_status|access_control"
     r"|send_timeout|satisfy"
     r"|auth_basic|real_ip_header|set_real_ip_from|real_ip_recursive|server_names_hash\w+"
     r"|types_hash\w+|resolver"
     r"|large_client_header_buffers|http2|break|proxy_ignore_headers|reset_timedout_connection"
     r"|open_file_cache\w*",
     r"[^{}]*"),
)  # fmt: skip
_DIRECTIVE = re.compile("|".join(rf"(?:{name})(?:\s+(?:{value}))?" for name, value in _DIRECTIVES))


def nginx(text: str) -> Reading:
    """Directives of nginx that serve a project, log beside it and load nothing."""
    if re.search(r"(?m)^\s*#.*[;{}'\"]", text):
        return Reading("a comment may be a part of a text")
    plain = re.sub(r"(?m)^\s*#.*$", "", text)
    for part in re.split(r"[;{}]", plain):
        shown = re.sub(r"\s+", " ", part).strip()
        if shown and not _DIRECTIVE.fullmatch(shown):
            return Reading(f"the directive is not known to do no harm: {shown[:80]}")
    return Reading()


_PRIVATE = r"(?:10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2})"
_OWN_NAME = r"(?!localhost)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|local|lan|home\.arpa|test)"
_LINES = {
    "hosts": rf"{_PRIVATE}(?:\s+(?:{_OWN_NAME}|(?!localhost)[a-z0-9-]+))+",
    "fstab": r"/swap(?:file|\.img)?\s+(?:none|swap)\s+swap\s+(?:sw|defaults)(?:,nofail)?"
    r"(?:\s+0\s+0)?",
    "modules": KERNEL_MODULE,
}


def lines(kind: str) -> Language:
    """Lines of which each is of one form."""
    form = re.compile(_LINES[kind])

    def read(text: str) -> Reading:
        for line in _lines(text, "#"):
            if not form.fullmatch(line):
                return Reading(f"the line is not known to do no harm: {line[:80]}")
        return Reading()

    return read


ADDED_TO = frozenset({"hosts", "fstab"})
"""The languages of files to which lines may be added, and nothing else be done."""
LOG = "log"
"""The language of files in which every text is harmless."""
LANGUAGES: dict[str, Language] = {
    "cron": cron,
    "logrotate": logrotate,
    "sysctl": sysctl,
    "unit": unit,
    "nginx": nginx,
    LOG: lambda text: Reading(),  # noqa: ARG005
    "notice": lambda text: Reading(),  # noqa: ARG005
    **{name: settings(name) for name in _SETTINGS},
    **{name: lines(name) for name in _LINES},
}
"""Every language of configuration, by its name in a policy."""

_SED_PART = re.compile(
    r"(?:/[^/\n]*/|\d+|\$)?(?:,(?:/[^/\n]*/|\d+|\$))?\s*"
    r"(?:s(?P<sign>[/|#,@])(?:(?!(?P=sign))[^\\\n]"
    r"|\\.)*(?P=sign)(?P<new>(?:(?!(?P=sign))[^\n])*)(?P=sign)[g\dI]*"
    r"|[aic]\s*\\?\s*(?P<line>[^\n]+)|d)"
)
_INDENTED = re.compile(
    r"s(?P<sign>[/|#,@])\^(?:\\\((?:\\s|\[\[:(?:space|blank):\]\]| )\*\\\)"
    r"|\((?:\\s|\[\[:(?:space|blank):\]\]| )\*\))"
)
"""A substitution whose first group is the indentation of a line."""
_PLAIN_TEXT = re.compile(r"[\w .%:-]*")


def edit(script: str, language: Language) -> Reading:
    """What a script of `sed -i` puts into a file of that language."""
    for part in _sed_parts(script):
        found = _SED_PART.fullmatch(part)
        if found is None:
            return Reading(f"the edit is not a plain one: {part[:80]}")
        new = found["new"] if found["new"] is not None else (found["line"] or "")
        if _INDENTED.match(part):
            new = new.removeprefix("\\1")
        if re.search(r"\\[\dn]|(?<!\\)&", new):
            return Reading(f"what the edit puts there depends on the file: {part[:80]}")
        if not _PLAIN_TEXT.fullmatch(new) and (why := language(new).why):
            return Reading(why)
        if not re.search(r"[A-Za-z]", new):
            continue
        if not re.search(r"\w\s*[\s=]\s*\S", new):
            return Reading(f"what the edit puts there is not a whole setting: {part[:80]}")
        if why := language(new).why:
            return Reading(why)
    return Reading()


def _sed_parts(script: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n|;\s*(?=s[/|#,@])", script) if part.strip()]


def _lines(text: str, comments: str) -> Iterator[str]:
    for line in text.split("\n"):
        shown = line.strip()
        if shown and shown[0] not in comments:
            yield shown
