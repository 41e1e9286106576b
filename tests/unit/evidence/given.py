"""Answers of hosts to the questions about a failure."""

ROOT = "uid=0(root) gid=0(root) groups=0(root)"
SHOP = "uid=33(shop) gid=33(shop) groups=33(shop),44(media)"
JOB_FAILED = (
    "Job for site.service failed because the control process exited with error code.\n"
    'See "systemctl status site.service" and "journalctl -xeu site.service" for details.\n'
)
LISTENING = 'tcp LISTEN 0 5 0.0.0.0:8080 0.0.0.0:* users:(("python3",pid=61,fd=3))'
OF_LEGACY = (
    "0::/system.slice/legacy.service\nroot python3\nlrwx /proc/61/exe -> /usr/bin/python3.11"
)


def state(**properties: str) -> str:
    given = {"LoadState": "loaded", "ActiveState": "failed", "Result": "exit-code"} | properties
    return "\n".join(f"{name}={value}" for name, value in given.items())


def entry(said: str, who: str = "python3[9]") -> str:
    return f"Nov 22 15:05:02 web1 {who}: {said}"


def stat(path: str, mode: str = "drwxr-xr-x", owner: str = "root root", link: str = "") -> str:
    arrow = f" -> '{link}'" if link else ""
    return f"{mode} {owner} 4096 1000 '{path}'{arrow}"


def journal_of(*lines: str) -> str:
    old = entry("Started site.service.", "systemd[1]"), entry("OSError: Read-only file system")
    begun = entry("Starting site.service...", "systemd[1]")
    ended_ = entry("site.service: Failed with result 'exit-code'.", "systemd[1]")
    return "\n".join((*old, begun, *lines, ended_))


IN_USE = journal_of(entry("Traceback"), entry("OSError: [Errno 98] Address already in use"))
SITE = {
    "unit site.service": state(
        ExecMainStatus="1",
        ExecStart="{ path=/usr/bin/python3 ; argv[]=/usr/bin/python3 -m http.server 8080 ; x }",
    )
}
