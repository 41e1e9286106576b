"""What is forbidden everywhere unless the operator says otherwise, each with its reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Forbidden:
    """An entry of `forbidden_commands` and why it is there."""

    entry: str
    reason: str


_SYSTEM_ROOTS = (
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt", "/proc",
    "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local",
    "/usr/sbin", "/usr/share", "/var", "/var/lib", "/var/log", "~",
)  # fmt: skip
_SYSTEM_CORE = (
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/sbin",
    "/usr",
    "/usr/bin",
    "/usr/lib",
)
_DISKS = (
    "/dev/sd*", "/dev/hd*", "/dev/vd*", "/dev/xvd*", "/dev/nvme*", "/dev/mmcblk*", "/dev/md*",
    "/dev/dm-*", "/dev/mapper/*", "/dev/disk/*", "/dev/loop*", "/dev/zd*", "/dev/nbd*",
    "/dev/drbd*",
)  # fmt: skip
_DOWNLOADS = ("curl", "wget")
_RUN_WHAT_THEY_READ = ("sh", "python*", "perl", "ruby", "node", "php")


def _deletions() -> list[Forbidden]:
    reason = "deletes a directory that the system or every user lives from"
    return [Forbidden(f"rm -r {root}", reason) for root in _SYSTEM_ROOTS]


def _permissions() -> list[Forbidden]:
    open_to_all = "lets every user change the system, and breaks sudo and ssh"
    modes = "changes the modes of the system's files, which breaks sudo, ssh or the start of it"
    owner = "changes the owner of the system's files, which breaks sudo and ssh"
    roots = [root for root in _SYSTEM_ROOTS if root not in ("/opt", "/srv", "~")]
    entries = [Forbidden(f"chmod -R 777 {root}", open_to_all) for root in roots]
    entries += [Forbidden(f"chmod -R * {root}", modes) for root in _SYSTEM_CORE]
    entries += [Forbidden(f"chown -R * {root}", owner) for root in roots]
    entries += [Forbidden(f"chgrp -R * {root}", owner) for root in roots]
    return entries


def _disks() -> list[Forbidden]:
    entries = [Forbidden(f"> {disk}", "overwrites a disk below its file system") for disk in _DISKS]
    entries += [
        Forbidden("mkfs", "makes a new file system over what is on the disk"),
        Forbidden("mke2fs", "makes a new file system over what is on the disk"),
        Forbidden("mkswap", "overwrites a disk with swap space"),
        Forbidden("wipefs -a", "erases the signatures by which file systems are found"),
        Forbidden("blkdiscard", "discards every block of a disk"),
        Forbidden("sgdisk --zap-all", "destroys a partition table"),
        Forbidden("sgdisk -Z", "destroys a partition table"),
        Forbidden("sfdisk --delete", "destroys a partition table"),
        Forbidden("parted * mklabel", "replaces a partition table"),
        Forbidden("hdparm --security-erase", "erases a disk in its firmware"),
        Forbidden("nvme format", "erases a disk in its firmware"),
        Forbidden("cryptsetup luksErase", "destroys the keys of an encrypted disk"),
        Forbidden("cryptsetup luksFormat", "overwrites a disk with an empty encrypted one"),
        Forbidden("vgremove", "removes a volume group with all that is on it"),
        Forbidden("pvremove", "removes a physical volume from its group"),
        Forbidden("lvremove", "removes a logical volume with all that is on it"),
    ]
    return entries


def _power() -> list[Forbidden]:
    reason = "takes the host down, and with it the connection that would bring it back"
    entries = ["shutdown", "reboot", "halt", "poweroff", "telinit", "init 0", "init 6"]
    entries += ["kexec -e", "busctl call * PowerOff", "busctl call * Reboot"]
    verbs = ("poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate")
    entries += [f"systemctl {verb}" for verb in verbs]
    entries += [f"systemctl isolate {verb}*" for verb in ("poweroff", "reboot", "halt", "rescue")]
    entries += [f"systemctl start {verb}.target" for verb in ("poweroff", "reboot", "halt")]
    entries += [f"loginctl {verb}" for verb in ("poweroff", "reboot")]
    entries += ["dbus-send * org.freedesktop.login1.Manager.PowerOff"]
    entries += ["dbus-send * org.freedesktop.login1.Manager.Reboot"]
    entries += ["> /proc/sysrq-trigger"]
    return [Forbidden(entry, reason) for entry in entries]


def _access() -> list[Forbidden]:
    user = "removes a user, and with -r the home directory"
    root = "locks the administrator out, or lets everybody in"
    entries = [Forbidden(tool, user) for tool in ("userdel", "deluser", "groupdel", "delgroup")]
    entries += [
        Forbidden("passwd -d root", root),
        Forbidden("passwd -l root", root),
        Forbidden("usermod -L root", root),
        Forbidden("chpasswd", "sets passwords that would stand in the text of the command"),
    ]
    accounts = ("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/sudoers")
    reason = "overwrites the accounts or rights of the host: usermod and visudo check what they do"
    entries += [Forbidden(f"> {path}", reason) for path in accounts]
    return entries


def _network() -> list[Forbidden]:
    reason = "drops every firewall rule, or closes the host to the connection that manages it"
    entries = [f"{tool} -F" for tool in ("iptables*", "ip6tables*", "ebtables")]
    entries += [f"{tool} -P INPUT DROP" for tool in ("iptables*", "ip6tables*")]
    entries += ["iptables*-restore", "ip6tables*-restore", "nft flush ruleset", "ufw reset"]
    entries += ["ufw disable", "firewall-cmd --panic-on"]
    return [Forbidden(entry, reason) for entry in entries]


def _programs() -> list[Forbidden]:
    unseen = "runs a program that nobody has seen: download it, read it, then run it"
    entries = [
        Forbidden(f"{load} | {run}", unseen) for load in _DOWNLOADS for run in _RUN_WHAT_THEY_READ
    ]
    entries.append(Forbidden(":(){ :|:& };:", "fills the host with processes until it stands"))
    return entries


def _data() -> list[Forbidden]:
    database = "deletes a database with all its data"
    cluster = "deletes everything in a namespace or project"
    entries = [
        Forbidden("dropdb", database),
        Forbidden("mysqladmin drop", database),
        Forbidden("sql drop database", database),
        Forbidden("sql drop schema", database),
        Forbidden("redis-cli FLUSHALL", database),
        Forbidden("redis-cli FLUSHDB", database),
        Forbidden("redis-cli flushall", database),
        Forbidden("redis-cli flushdb", database),
        Forbidden("crontab -r", "removes every scheduled job of the user"),
        Forbidden("docker system prune", "removes containers, networks and images not in use"),
        Forbidden("podman system prune", "removes containers, networks and images not in use"),
        Forbidden("docker volume prune", "deletes the data of all volumes not in use"),
        Forbidden("podman volume prune", "deletes the data of all volumes not in use"),
    ]
    kinds: tuple[str, ...] = (
        "namespace",
        "namespaces",
        "ns",
        "namespace/*",
        "ns/*",
        "namespaces/*",
    )
    entries += [Forbidden(f"kubectl delete {kind}", cluster) for kind in kinds]
    kinds = (*kinds, "project", "projects", "project/*")
    entries += [Forbidden(f"oc delete {kind}", cluster) for kind in kinds]
    return entries


DEFAULT_FORBIDDEN: tuple[Forbidden, ...] = (
    *_deletions(),
    *_permissions(),
    *_disks(),
    *_power(),
    *_access(),
    *_network(),
    *_programs(),
    *_data(),
)
"""The list that holds where no other is configured."""


def default_entries() -> tuple[str, ...]:
    """The entries alone, as `forbidden_commands` takes them."""
    return tuple(forbidden.entry for forbidden in DEFAULT_FORBIDDEN)
