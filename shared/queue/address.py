"""The address of the broker."""

from urllib.parse import parse_qsl, urlencode, urlsplit

_ENCRYPTED = "rediss"
_CHECKED = "ssl_cert_reqs"


def with_certificate_check(broker_url: str) -> str:
    """The address; for `rediss://`, with a certificate check unless it says otherwise.

    By default, kombu checks no certificate if the address does not ask for it.
    """
    parts = urlsplit(broker_url)
    asked = parse_qsl(parts.query, keep_blank_values=True)
    if parts.scheme != _ENCRYPTED or _CHECKED in dict(asked):
        return broker_url
    return parts._replace(query=urlencode([*asked, (_CHECKED, "required")], safe="/")).geturl()
