"""Vaults: each gives its values and nothing else, and says why it does not, without a value."""

import os
import select
import sys
from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest

from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from shared.secrets.vaults.command import CommandVault
from shared.secrets.vaults.environment import EnvironmentVault
from shared.secrets.vaults.files import LARGEST, FileVault
from shared.secrets.vaults.opening import open_vaults
from shared.secrets.vaults.system_keyring import SERVICE, KeyringVault
from shared.secrets.vaults.vault import NotHere, Vault, Vaults
from shared.settings import ServerSettings
from tests.services.availability import needs_root

VALUE = "s3cret-value\nof two lines"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of files with one secret."""
    folder = tmp_path / "vault"
    FileVault(folder).put("DB", VALUE)
    return folder


def refusal(vaults: Vaults, name: str = "DB") -> Misconfigured:
    """Why the secret is not given; the message never holds its value."""
    with pytest.raises(Misconfigured) as caught:
        vaults.secret(name)
    error = caught.value
    assert error.next_step
    assert VALUE[:6] not in str(error) + repr(error) + command_line(error.next_step)
    return error


def prints(code: str, *, timeout: float = 20) -> CommandVault:
    """A vault of a Python program."""
    return CommandVault([sys.executable, "-c", code, "replan/NAME"], timeout=timeout)


def test_what_was_put_is_found_and_is_this_users_alone(folder: Path) -> None:
    vault = FileVault(folder)
    assert vault.find("DB") == VALUE
    assert vault.names() == ("DB",)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "DB").stat().st_mode & 0o777 == 0o600
    vault.put("DB", "another value")
    assert vault.find("DB") == "another value"
    assert [each.name for each in folder.iterdir()] == ["DB"]


def test_one_newline_at_the_end_is_the_editors(folder: Path) -> None:
    (folder / "DB").write_text("value\n\n")
    assert FileVault(folder).find("DB") == "value\n"


def test_a_file_or_a_folder_that_is_not_there_is_no_fault(folder: Path) -> None:
    for vault in (FileVault(folder), FileVault(folder / "none")):
        with pytest.raises(NotHere):
            vault.find("OTHER")
    assert FileVault(folder / "none").names() == ()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o602, 0o601])
def test_a_file_that_others_can_use_is_refused(folder: Path, mode: int) -> None:
    (folder / "DB").chmod(mode)
    error = refusal(Vaults([FileVault(folder)]))
    assert f"mode {mode:04o}" in error.reason
    assert command_line(error.next_step) == f"chmod 0600 {folder / 'DB'}"
    assert error.stage == "secrets"


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_a_folder_that_others_can_use_is_refused(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    error = refusal(Vaults([FileVault(folder)]))
    assert command_line(error.next_step) == f"chmod 0700 {folder}"
    with pytest.raises(Misconfigured):
        FileVault(folder).names()
    with pytest.raises(Misconfigured):
        FileVault(folder).put("NEW", "some value")


def test_links_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(VALUE)
    (tmp_path / "elsewhere").chmod(0o600)
    (folder / "LINK").symlink_to(tmp_path / "elsewhere")
    assert "is a link" in refusal(Vaults([FileVault(folder)]), "LINK").reason
    (tmp_path / "also").symlink_to(folder)
    assert "is a link" in refusal(Vaults([FileVault(tmp_path / "also")])).reason


def test_what_is_no_file_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "PIPE", 0o600)
    (folder / "FOLDER").mkdir(mode=0o700)
    vaults = Vaults([FileVault(folder)])
    assert "is not a file" in refusal(vaults, "PIPE").reason
    assert "is not a file" in refusal(vaults, "FOLDER").reason


@needs_root
def test_another_owner_is_refused(folder: Path) -> None:
    os.chown(folder / "DB", 12345, -1)
    assert "another user (number 12345)" in refusal(Vaults([FileVault(folder)])).reason


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"abc\0def", "is not text"),
        (b"\xff\xfe\xfd\xfc\xfb\xfa", "is not text"),
        (b"x" * (LARGEST + 1), "is larger than"),
        (b"abc", "shorter than 6 characters"),
        ("value ‹of› it".encode(), "which delimit masks"),
        (b"password", "part of the text of a mask"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(folder: Path, content: bytes, says: str) -> None:
    (folder / "DB").write_bytes(content)
    assert says in refusal(Vaults([FileVault(folder)])).reason


def test_the_environment_gives_what_begins_so() -> None:
    vault = EnvironmentVault({"REPLAN_SECRET_DB": VALUE, "REPLAN_SECRET_": "x", "HOME": "/"})
    assert vault.find("DB") == VALUE
    assert vault.names() == ("DB",)
    with pytest.raises(NotHere):
        vault.find("HOME")


def test_a_command_prints_the_value() -> None:
    assert prints("import sys; print(sys.argv[1])").find("DB") == "replan/DB"
    assert prints("print('a;b $(x)\\n')").find("DB") == "a;b $(x)\n"


def test_a_command_that_fails_does_not_have_it_and_is_not_quoted() -> None:
    failing = prints(f"import sys; print({VALUE!r}); sys.exit('no such entry')")
    error = refusal(Vaults([failing]))
    assert "exit 1, no such entry" in error.reason
    assert command_line(error.next_step) == "replan secret set DB"


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    code = f"sleep 600 & echo $! >{started}; echo {VALUE.split(maxsplit=1)[0]}; wait"
    error = refusal(Vaults([CommandVault(["sh", "-c", code, "NAME"], timeout=3)]))
    assert "has not answered within 3 s" in error.reason
    try:
        child = os.pidfd_open(int(started.read_text()))
    except ProcessLookupError:
        return
    assert select.select([child], [], [], 30)[0], "what the command started goes on"
    os.close(child)


def test_a_command_that_cannot_be_started_is_told() -> None:
    error = refusal(Vaults([CommandVault(["/nowhere/pass", "NAME"], timeout=5)]))
    assert "/nowhere/pass, cannot be started (No such file or directory)" in error.reason


def test_a_command_has_to_have_a_place_for_the_name() -> None:
    with pytest.raises(Misconfigured, match="has no NAME"):
        CommandVault(["pass", "show"], timeout=5)


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory, or one that is locked."""

    priority = 1

    def __init__(self, held: dict[str, str] | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._held = held

    def get_password(self, service: str, username: str) -> str | None:
        assert service == SERVICE
        if self._held is None:
            raise keyring.errors.KeyringLocked("it is locked")
        return self._held.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError


def test_a_keyring_is_asked_and_its_lock_is_told() -> None:
    before = keyring.get_keyring()
    try:
        keyring.set_keyring(Ring({"DB": VALUE}))
        assert KeyringVault().find("DB") == VALUE
        assert "the keyring" in refusal(Vaults([KeyringVault()]), "OTHER").reason
        keyring.set_keyring(Ring(None))
        assert "KeyringLocked (it is locked)" in refusal(Vaults([KeyringVault()])).reason
    finally:
        keyring.set_keyring(before)


def test_without_its_library_the_keyring_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert "is not installed" in refusal(Vaults([KeyringVault()])).reason


def test_the_first_vault_that_has_it_counts(folder: Path) -> None:
    both: list[Vault] = [
        FileVault(folder),
        EnvironmentVault({"REPLAN_SECRET_DB": "of the environment"}),
    ]
    assert Vaults(both).secret("DB").reveal() == VALUE
    assert Vaults(both[::-1]).secret("DB").reveal() == "of the environment"
    assert [each.name for each in Vaults(both).entries()] == ["DB"]


def test_no_vault_has_it_and_all_that_were_asked_are_named(folder: Path) -> None:
    error = refusal(Vaults([FileVault(folder), EnvironmentVault({})]), "OTHER")
    assert error.reason == (
        f"no vault has the secret OTHER; asked: files in {folder}; "
        "the environment (REPLAN_SECRET_…)"
    )
    assert "asked: none" in refusal(Vaults([]), "OTHER").reason


@pytest.mark.parametrize("name", ["", "1A", "../DB", "a-b", "é", "x" * 65])
def test_what_is_no_name_is_asked_of_no_vault(folder: Path, name: str) -> None:
    assert "is not a valid name of a secret" in refusal(Vaults([FileVault(folder)]), name).reason


def test_vaults_are_opened_as_the_settings_say(tmp_path: Path) -> None:
    settings = ServerSettings(
        data_dir=tmp_path,
        vaults=("command", "environment", "files"),
        vault_command=("false", "NAME"),
    )
    FileVault(tmp_path / "secrets").put("A", "of the files")
    vaults = open_vaults(settings, {"REPLAN_SECRET_B": "of the environment"})
    assert [each.name for each in vaults.entries()] == ["A", "B"]
    assert [each.name for each in vaults.all_secrets()] == ["A", "B"]
    assert vaults.secrets(["B", "A", "B"]) == (vaults.secret("B"), vaults.secret("A"))


def test_an_unknown_vault_is_refused() -> None:
    with pytest.raises(Misconfigured, match="'bank' is not a vault; allowed: files, environment"):
        open_vaults(ServerSettings(vaults=("bank",)), {})
