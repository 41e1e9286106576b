"""What a person is shown of a host's records: no secret, no broken text, and not too much of it."""

from shared.domain.records import HostRecord
from shared.secrets.masking import Masker
from workers.roles.shown_records import SHOWN, shown_record


def shown(command: str) -> str:
    record = HostRecord("ab", 0, 1, "key", 1, command, running=False, exit_code=0)
    return shown_record(record, Masker()).command


def test_what_is_no_text_can_be_stored() -> None:
    assert shown("echo \udcff") == "echo \\udcff"


def test_a_long_command_is_cut() -> None:
    assert len(shown("x" * (2 * SHOWN))) == SHOWN + 1


def test_a_short_one_is_shown_as_it_is() -> None:
    assert shown("echo 'a\nb'") == "echo 'a\nb'"
