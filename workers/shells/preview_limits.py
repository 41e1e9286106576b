"""What no preview of a command can show, by the programs, forms and places in its text."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from shared.domain.preview import Unseen, UnseenKind

_PROGRAMS: Mapping[UnseenKind, frozenset[str]] = {
    UnseenKind.NETWORK: frozenset(
        {
            *("curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "telnet"),
            *("ftp", "socat", "dig", "host", "nslookup", "ping", "openssl", "aws", "gcloud", "az"),
            *("svn", "hg", "certbot", "mail", "sendmail", "nmap", "ansible", "terraform"),
        }
    ),
    UnseenKind.SERVICE: frozenset(
        {
            *("systemctl", "service", "initctl", "rc-service", "loginctl", "hostnamectl"),
            *("timedatectl", "localectl", "busctl", "docker", "podman", "nerdctl"),
            *("kubectl", "helm", "crictl", "ctr", "virsh", "lxc", "psql", "pg_ctl", "createdb"),
            *("dropdb", "createuser", "dropuser", "pg_dump", "pg_restore", "mysql", "mysqldump"),
            *("mysqladmin", "mariadb", "redis-cli", "valkey-cli", "mongosh", "mongo", "etcdctl"),
            *("rabbitmqctl", "supervisorctl", "pm2", "fail2ban-client", "firewall-cmd", "at"),
            *("batch", "atrm", "lpr", "snap", "flatpak", "systemd-run", "udevadm", "chronyc"),
            *("postqueue", "varnishadm"),
        }
    ),
    UnseenKind.PACKAGES: frozenset(
        {
            *("apt", "apt-get", "aptitude", "dpkg", "dpkg-reconfigure", "dnf", "yum", "rpm"),
            *("zypper", "apk", "pacman", "pip", "pip3", "pipx", "uv", "npm", "yarn", "pnpm"),
            *("gem", "bundle", "cargo", "go", "composer", "conda", "emerge", "brew"),
        }
    ),
    UnseenKind.SIGNALS: frozenset(
        {"kill", "pkill", "killall", "killall5", "skill", "fuser", "xkill"}
    ),
    UnseenKind.RIGHTS: frozenset(
        {"su", "doas", "pkexec", "runuser", "machinectl", "setcap", "chattr", "capsh"}
    ),
    UnseenKind.KERNEL: frozenset(
        {
            *("sysctl", "mount", "umount", "swapon", "swapoff", "modprobe", "insmod", "rmmod"),
            *("ip", "ifconfig", "route", "iptables", "ip6tables", "nft", "ufw", "tc", "reboot"),
            *("shutdown", "poweroff", "halt", "init", "telinit", "kexec", "hwclock"),
            *("unshare", "nsenter", "chroot", "setenforce", "auditctl", "losetup"),
            *("renice", "ionice", "chrt", "taskset", "dmesg", "keyctl", "ipcrm", "setserial"),
            *("cgcreate", "cgexec", "cgset", "prlimit", "bpftool", "wg", "brctl", "ethtool"),
        }
    ),
    UnseenKind.DEVICES: frozenset(
        {
            *("mkswap", "fdisk", "sfdisk", "parted", "sgdisk", "gdisk", "cryptsetup", "lvcreate"),
            *("lvextend", "lvremove", "lvresize", "vgcreate", "vgextend", "vgremove", "pvcreate"),
            *("pvremove", "pvresize", "mdadm", "zpool", "zfs", "btrfs", "resize2fs", "xfs_growfs"),
            *("e2fsck", "fsck", "tune2fs", "wipefs", "blkdiscard", "hdparm", "nvme", "smartctl"),
            *("mkfs", "partprobe", "mknod", "fstrim", "growpart", "grub-install"),
        }
    ),
    UnseenKind.ATTRIBUTES: frozenset({"setfacl", "setcap", "setfattr", "chattr", "chcon"}),
}
"""The programs whose effects a preview cannot show, by what it lacks for them."""

_FORMS = (
    (UnseenKind.NETWORK, re.compile(r"\bgit\b[^;&|\n]*\b(?:fetch|pull|push|clone|submodule)")),
    (UnseenKind.SIGNALS, re.compile(r"\b(?:nginx|apache2ctl|apachectl|httpd)\s+-[sk]\b")),
    (UnseenKind.SERVICE, re.compile(r"\bapache(?:2ctl|ctl)\s+[a-z]")),
    (UnseenKind.KERNEL, re.compile(r"\b(?:hostname\s+[^-\s;&|)]|date\s+(?:-s|--set))")),
    (UnseenKind.KERNEL, re.compile(r"/(?:proc|sys)/")),
    (UnseenKind.NETWORK, re.compile(r"/dev/(?:tcp|udp)/")),
    (UnseenKind.DEVICES, re.compile(r"/dev/(?!null\b|zero\b|u?random\b|full\b|std|fd/|tcp/|udp/)")),
)
"""The forms and places in a text whose effects a preview cannot show."""


def unseen_in(text: str, started: Collection[str] | None) -> Iterator[Unseen]:
    """What a preview of this text cannot show, whatever it found.

    It starts the programs that `started` names; None if that cannot be known.
    """
    if started is None:
        yield Unseen(UnseenKind.UNREADABLE)
    names = {PurePosixPath(each).name for each in started or ()}
    families = names | {each.partition(".")[0] for each in names}
    for kind, known in _PROGRAMS.items():
        if found := sorted(families & known):
            yield Unseen(kind, ", ".join(found))
    for kind, form in _FORMS:
        if (at := form.search(text)) is not None:
            yield Unseen(kind, at[0])
