"""Which hosts a command may reach: none that hands out the credentials of its machine (X17).

Any other host with a plain name may be, unless the policy lists `hosts`: then only these, and the
machine itself. A name that looks as if it carried data asks: what was read may leave in it.
"""

import ipaddress
import re
from fnmatch import fnmatchcase
from urllib.parse import unquote_plus

_URL = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*://)?([^/?#:]+)(?::\d+)?([/?#].*)?")
_ITSELF = frozenset({"localhost", "127.0.0.1", "::1"})
_METADATA_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            "169.254.0.0/16",  # AWS, Google, Azure, Oracle, DigitalOcean, OpenStack
            "fe80::/10",
            "fd00:ec2::/32",  # AWS
            "fd20:ce::/32",  # Google
            "fd00:c1::/32",  # Oracle
            "fd00:42::/32",  # Scaleway
            "100.100.100.0/24",  # Alibaba
            "192.0.0.0/24",  # Oracle
            "168.63.129.16/32",  # Azure
        ),
    )
)
_METADATA_NAME = re.compile(
    r"(?:.*[.-])?(?:instance-data|metadata|meta-data|imds|wireserver|rancher-metadata)(?:[.-].*)?"
)
_WILDCARD_DNS = re.compile(
    r"(?:.*\.)?(?:nip\.io|sslip\.io|xip\.io|traefik\.me|localtest\.me|lvh\.me|vcap\.me|readme\.tools"
    r"|1u\.ms|rbndr\.us|rebind\.it|local-ip\.co|backname\.io|ip\.[a-z]+\.[a-z]+)"
)
_EMBEDDED = re.compile(r"(?:^|[.-])(169[.-]254|100[.-]100[.-]100|a9fe|a9-fe)(?:[.-]|[0-9a-f]{4})")
_NUMERIC = re.compile(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){0,3}\.?")
_PLAIN_QUAD = re.compile(r"(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})")
_CONTROLS = re.compile(
    r"(?i)^[^?]*[/_=.-](?:delete|drop|shutdown|quit(?:quit\w*)?|flush\w*|purge|wipe|destroy|truncate|restart"
    r"|reboot|kill|terminate|exit|stop|unload|evict|drain|heapdump|threaddump|jolokia|configprops"
    r"|actuator/env|undeploy|unload|reload|rollback|reindex|_refresh|_forcemerge|api/definitions"
    r"|secrets?|credentials|\.git|\.env|\.ssh|\.aws|api_?keys?|v1/kv|v1/secret|v2/keys|debug/pprof/cmdline|debug/vars|phpinfo\w*|server-info)"
    r"(?:[/?=&.#-]|$)"
    r"|[?&](?:action|op|operation|cmd|command|do|task|_method)="
    r"(?!status|list|get|show|info|stats?|ping|version|health|describe|query|search|view|read)"
    r"|[?&](?:mode|method)=(?:delete|drop|remove|shutdown|stop|kill|flush|purge|wipe|destroy|reset|restart|reboot|approve)"
    r"|/(?:build(?:WithParameters)?|trigger|webhooks?|hooks|deploy\w*)(?:[/?#]|$)"
    r"|/(?:agent/leave|force-leave|approve|revoke|grant)(?:[/?#]|$)"
    r"|^(?:https?://)?[^/]*:(?:2375|2376|2379|4001|4243|8200|10250|10255|10257|10259)(?:[/?]|$)"
)
_STATEMENT = re.compile(
    r"(?i)\b(?:drop|delete|truncate|alter|insert|update|create|grant|revoke|kill|attach|detach|system"
    r"|rename|optimize|into)[\s+]+[\w\"'`*.]"
)
"""A statement of a query language that does more than ask."""
_DATA = re.compile(r"[0-9a-f]{16,}|(?=[a-z]*\d)[a-z0-9]{22,}|[a-z2-7]{28,}")
_DATA_IN_TEXT = re.compile(r"[A-Za-z0-9+/=_-]{65,}|(?:%[0-9A-Fa-f]{2}){8,}")
_MOST_LABELS = 6
_LONGEST_LABEL = 40
_LONGEST_NAME = 100
_LONGEST_QUERY = 300


def unreachable(host: str, listed: tuple[str, ...] = ()) -> str | None:
    """Why a host may not be reached without a person, or None."""
    name = host.strip("[]").rstrip(".").lower()
    if name in _ITSELF:
        return None
    address = _address(name)
    if address is not None:
        if _hands_out_credentials(address):
            return f"{host} is an address at which a machine gets its credentials"
    elif _NUMERIC.fullmatch(name):
        return f"{host} is not a plain address"
    elif _METADATA_NAME.fullmatch(name) or _EMBEDDED.search(name):
        return f"{host} names an address at which a machine gets its credentials"
    elif _WILDCARD_DNS.fullmatch(name):
        return f"{host} may name any address"
    elif _carries_data(name):
        return f"{host} looks as if it carried data"
    if listed and not any(fnmatchcase(name, pattern.lower()) for pattern in listed):
        return f"{host} is not among the hosts that the policy lists"
    return None


def unreachable_url(url: str, listed: tuple[str, ...] = ()) -> str | None:
    """The same for the host of an address, and for data in what follows it."""
    found = _URL.fullmatch(url)
    if found is None:
        return f"{url} is not a plain http address"
    rest = found[2] or ""
    if found[1].lower() in _ITSELF and (_CONTROLS.search(url) or states(url)):
        return f"{url} asks a service to change or to show what it keeps to itself"
    query = rest.partition("?")[2]
    host = found[1].lower()
    if host not in _ITSELF and (len(query) > _LONGEST_QUERY or _DATA_IN_TEXT.search(rest)):
        return f"{url} looks as if it carried data"
    return unreachable(host, listed)


def states(text: str) -> bool:
    """Whether a part of an address holds a statement that changes what a service keeps."""
    return _STATEMENT.search(unquote_plus(text)) is not None


def unreachable_mapping(mapping: str, listed: tuple[str, ...] = ()) -> str | None:
    """The same for what curl's `--resolve HOST:PORT:ADDRESS[,ADDRESS]` connects to."""
    _, _, rest = mapping.partition(":")
    _, colon, addresses = rest.partition(":")
    if not colon or not addresses:
        return f"{mapping} is not HOST:PORT:ADDRESS"
    found = (unreachable(address.lstrip("+"), listed) for address in addresses.split(","))
    return next(filter(None, found), None)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    text = name.partition("%")[0]
    if _PLAIN_QUAD.fullmatch(text) or ":" in text:
        try:
            return ipaddress.ip_address(text)
        except ValueError:
            return None
    return None


def _hands_out_credentials(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        # an IPv4 address may stand at the end of one: mapped, translated, or tunnelled
        last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if _hands_out_credentials(last):
            return True
        tunnelled = address.sixtofour
        if tunnelled is not None and _hands_out_credentials(tunnelled):
            return True
    if address.is_unspecified or address.is_multicast:
        return True
    return any(
        address in network for network in _METADATA_NETWORKS if network.version == address.version
    )


def _carries_data(name: str) -> bool:
    labels = name.split(".")
    return (
        len(name) > _LONGEST_NAME
        or len(labels) > _MOST_LABELS
        or any(len(label) > _LONGEST_LABEL or _DATA.search(label) for label in labels)
    )
