"""What the memory never keeps: anything that has the form of a secret."""

import pytest

from shared.secrets.written import holds_secret
from tests.unit.fixes.given import subtasks

HARMLESS = (
    'psql -c "${secret:DB_PASSWORD}"',
    "apt-get install -y nginx",
    "cat /etc/ssl/certs/ca.pem",
    "git checkout 3f2a9b81c0de3f2a9b81c0de3f2a9b81c0de3f2a",
)
SECRET = (
    "mysql --password=hunter2hunter2 -e 'SELECT 1'",
    "curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789' http://x.test/",
    "echo 'postgresql://app:s3cretpassw0rd@db.test/app' > url",
)


@pytest.mark.parametrize("command", HARMLESS)
def test_a_name_of_a_secret_is_none(command: str) -> None:
    assert not holds_secret(subtasks(command, {"command": "true", "check": command}))


@pytest.mark.parametrize("command", SECRET)
def test_a_secret_is_seen_wherever_it_stands(command: str) -> None:
    assert holds_secret(subtasks("true", command))
    assert holds_secret(subtasks({"command": "true", "check": command}))
    assert holds_secret(subtasks({"command": "true", "rollback": command}))
    assert holds_secret(subtasks({"command": "true", "preconditions": [command]}))
