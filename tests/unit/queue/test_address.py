"""Which certificates of a broker are accepted."""

import pytest

from shared.queue.address import with_certificate_check


@pytest.mark.parametrize(
    ("said", "used"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("redis+socket:///run/r.sock", "redis+socket:///run/r.sock"),
        ("sentinel://h:1/0", "sentinel://h:1/0"),
        ("rediss://h:1/0", "rediss://h:1/0?ssl_cert_reqs=required"),
        ("rediss://:p%40ss@h:1/0", "rediss://:p%40ss@h:1/0?ssl_cert_reqs=required"),
        (
            "rediss://h:1/0?ssl_ca_certs=/etc/ca.pem",
            "rediss://h:1/0?ssl_ca_certs=/etc/ca.pem&ssl_cert_reqs=required",
        ),
        ("rediss://h:1/0?ssl_cert_reqs=none", "rediss://h:1/0?ssl_cert_reqs=none"),
    ],
)
def test_a_certificate_is_checked_unless_the_address_says_otherwise(said: str, used: str) -> None:
    assert with_certificate_check(said) == used
