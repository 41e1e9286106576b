"""Units of the service manager on which the host, or the way to it, depends (X17)."""

import re

_NAMES: dict[str, str] = {
    "the host itself": (
        "systemd dbus rescue emergency debug getty init polkit udev halt reboot poweroff"
        " shutdown suspend hibernate hybrid sleep kexec user@ user- cloud plymouth console quota"
        " initrd packagekit system default multi-user graphical ctrl autovt serial exit final"
        " umount local-fs basic sysinit sudo acpid elogind seatd libvirtd virtqemud xen pve lxc"
        " lxd incus kubelet k3s rke2 microk8s snap.microk8s"
    ),
    "the way to it": (
        "ssh sshd dropbear tinyssh telnet mosh network netplan NetworkManager networking wicked"
        " netctl dhcp dhclient isc-dhcp-client connman iwd wpa ifup ifplugd hostapd ModemManager"
        " resolvconf openresolv stubby bird frr quagga zebra bgpd ospfd keepalived ucarp vrrpd"
        " pacemaker corosync heartbeat pcsd openvswitch ovs ovn bonding teamd wg-quick wg@"
        " wireguard tailscale zerotier nebula netbird headscale openvpn ovpn strongswan swanctl"
        " ipsec libreswan xl2tpd pptp sstp ocserv openconnect fastd tinc n2n softether vpn"
        " cloudflared ngrok frpc frps autossh rathole boringproxy inlets teleport boundary guacd"
        " xrdp vnc cockpit webmin amazon-ssm snap.amazon-ssm google-guest google-osconfig"
        " walinuxagent waagent azure-agent oracle-cloud-agent snap.oracle qemu-guest open-vm"
        " vmtoolsd vmware hv- hv_ hyperv xe- spice salt-minion puppet chef-client chef_client"
        " mcollective ansible rundeckd step-ca rport meshagent teamviewer anydesk rustdesk"
    ),
    "its firewall": (
        "firewalld nftables iptables ip6tables ufw shorewall csf lfd ferm apf firehol awall"
        " netfilter-persistent ebtables arptables conntrackd opensnitch"
    ),
    "its accounts": (
        "sssd nslcd nscd unscd winbind samba-ad krb5 kadmin ipa freeipa oddjobd realmd authd"
        " himmelblau aad-auth adclient centrify vasd pbis lwsmd systemd-homed accounts-daemon"
        " slapd 389-ds dirsrv"
    ),
    "other hosts": (
        "etcd kube- named bind9 unbound isc-dhcp kea- pdns knot nsd vault consul nomad rpcbind"
    ),
    "its disks": (
        "iscsi open-iscsi multipath lvm dm-event dmeventd mdadm mdmonitor mdcheck zfs zpool"
        " drbd nfs autofs remote- cryptsetup clevis ceph gluster glusterd lustre o2cb ocfs2 gfs2"
        " rbdmap nbd blk-availability stratis vdo bcache dlm sanlock"
    ),
    "replan": "replan valkey-replan postgresql-replan",
}
_WAYS_IN = (
    "telnet rsh rlogin rexec tftp xinetd inetd openbsd-inetd finger ypserv ypbind rpc-statd"
    " rwhod talk ntalk chargen echo-server docker.socket docker-tcp podman.socket snmpd x11vnc"
    " distccd gotty ttyd shellinabox wetty code-server jupyter rsync rsyncd"
)
_GUARDS = (
    "apparmor selinux fail2ban crowdsec sshguard denyhosts falcon ossec wazuh auditd audit"
    " auditbeat laurel osqueryd sysmon mdatp sentinel cbdaemon cbagent carbonblack cylance trend"
    " ds_agent sophos sav-protect eset mcafee symantec esets clamav clamd aide tripwire samhain"
    " rkhunter chkrootkit maldet suricata snort zeek falco tetragon tracee unattended-upgrades"
    " apt-daily dnf-automatic yum-cron packagekit-offline zypp-auto transactional-update"
    " needrestart snapd.refresh rsyslog syslog journal logrotate filebeat fluent td-agent"
    " promtail vector cron crond anacron atd chrony ntp timesyncd usbguard fapolicyd modsecurity"
    " thinkfan thermald watchdog smartd smartmontools mcelog rasdaemon edac monit nagios nrpe"
    " zabbix icinga datadog newrelic telegraf node_exporter prometheus borg restic duplicity"
    " bacula bareos rsnapshot certbot acme"
)
_KEEPING = (
    "postgres pgsql edb- mysql mariadb percona mongo redis valkey keydb memcached rabbitmq kafka"
    " redpanda zookeeper elasticsearch opensearch solr cassandra scylla clickhouse influx couchdb"
    " neo4j minio docker containerd crio podman pgbouncer proxysql haproxy"
)
_SHAPE = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9@_.:-]*(?<!\.target)(?<!\.mount)(?<!\.swap)(?<!\.slice)"
    r"(?<!\.scope)(?<!\.device)(?<!\.automount)(?<!\.socket)(?<!\.path)"
)


def _beginning(names: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, names.lower().split())))


_NEEDED = {what: _beginning(names) for what, names in _NAMES.items()}
_OPENING, _GUARDING = _beginning(_WAYS_IN), _beginning(_GUARDS)
_KEPT_FOR_OTHERS = _beginning(_KEEPING)


def no_control(unit: str) -> str | None:
    """Why a unit may not be started, stopped or reloaded without a person, or None.

    Sockets are not units of a service: what they open may be a way into the host.
    """
    if not _SHAPE.fullmatch(unit):
        return f"{unit} is not a plain unit"
    name = unit.lower()
    for what, needed in _NEEDED.items():
        if needed.match(name):
            return f"{unit} is not a plain unit: {what} depends on it"
    if _OPENING.match(name):
        return f"{unit} may open a way into the host"
    return None


def no_end(unit: str) -> str | None:
    """The same for ending it: what guards or watches the host goes on."""
    if why := no_control(unit):
        return why
    if _GUARDING.match(unit.lower()):
        return f"{unit} guards or watches the host"
    return None


def no_mask(unit: str) -> str | None:
    """The same for keeping it from every start: what other services need can be started again."""
    if why := no_end(unit):
        return why
    if _KEPT_FOR_OTHERS.match(unit.lower()):
        return f"{unit} keeps what other services need, and could not be started again"
    return None
