"""What `doctor` finds without any server."""

from pathlib import Path

from orchestrator.access.approval_key import PRIVATE_KEY, ApprovalKey
from orchestrator.doctor import examine
from shared.settings import load_settings


class Chooses:
    """Somebody who chooses a passphrase."""

    def current(self, path: Path) -> str | None:
        """Nobody has to type it here."""
        raise AssertionError(path)

    def new(self, path: Path) -> str | None:  # noqa: ARG002
        """Choose one."""
        return "correct horse"


def test_the_doctor_says_who_can_sign_approvals(tmp_path: Path) -> None:
    """It makes no key; one that others may read is a fault."""

    def told() -> tuple[bool, str]:
        environ = {
            "REPLAN_DATA_DIR": str(tmp_path),
            "REPLAN_DATABASE_URL": "postgresql://127.0.0.1:1/x",
        }
        server = load_settings(environ).server
        (found,) = (each for each in examine(server) if each.check == "approval key")
        return found.ok, found.reason

    assert told() == (True, f"there is none in {tmp_path} yet, or an agent holds it")
    assert not [*tmp_path.iterdir()]
    ApprovalKey(tmp_path)
    ok, reason = told()
    assert ok
    assert "whatever runs as this account can approve" in reason
    (tmp_path / PRIVATE_KEY).chmod(0o644)
    assert not told()[0]
    (tmp_path / PRIVATE_KEY).unlink()
    ApprovalKey(tmp_path, Chooses())
    assert told() == (True, "signing takes its passphrase")
