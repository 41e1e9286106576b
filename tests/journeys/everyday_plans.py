"""Three plans as people write them, the host that they need, and what holds there afterwards."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.journeys.celery_wheel import CELERY_AT, celery_wheel
from tests.services.debian_base import Release
from tests.services.debian_host import ARCHIVES

PLANS: Final = Path(__file__).with_name("everyday")

RELEASE: Final = Release(
    "bookworm",
    (
        *("openssh-server", "curl", "ca-certificates", "procps", "iproute2", "sudo", "systemd"),
        # The last is what Ansible's module for packages needs (`benchmarks/everyday`).
        *("python3-minimal", "libpython3-stdlib", "python3-apt"),
    ),
    ("nginx", "python3-venv", "logrotate"),
)

PREPARED: Final = f"""
printf '[global]\\nindex-url = {ARCHIVES}/simple\\ntrusted-host = archive.test\\n' > /etc/pip.conf
mkdir -p /srv/app /var/log/shop
echo celery > /srv/app/requirements.txt
cat > /srv/app/app.py <<'END'
import http.server
http.server.HTTPServer(("127.0.0.1", 8081), http.server.SimpleHTTPRequestHandler).serve_forever()
END
head -c 5000 /dev/urandom > /var/log/shop/app.log
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, and what holds on the host afterwards."""

    name: str
    effects: str

    @property
    def file(self) -> Path:
        """The plan file."""
        return PLANS / f"{self.name}.yaml"


CASES: Final = (
    Case("site", "curl -fsS -H 'Host: shop.example.com' http://127.0.0.1/ | grep -qx Shop"),
    Case("app", "curl -fsS http://127.0.0.1:8081/ && /srv/app/venv/bin/pip show celery"),
    Case("rotation", "ls /var/log/shop/app.log.1.gz && test -s /var/lib/logrotate/shop"),
)

SERVED: Final = {CELERY_AT: celery_wheel()}
"""What pip finds beside the packages."""
