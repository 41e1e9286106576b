"""Streams: however the output is cut, the same is masked, and nothing leaks at the cuts."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.secrets import lines
from shared.secrets.masking import Masker
from tests.unit.secrets.given import MASKER, PRIVATE_KEY, SECRETS, in_pieces, outputs


@given(outputs, st.lists(st.integers(0, 10_000), max_size=12))
@settings(max_examples=400, deadline=None)
def test_cuts_change_nothing(output: bytes, cuts: list[int]) -> None:
    assert in_pieces(MASKER, output, cuts) == MASKER.bytes(output)


@given(outputs)
@settings(max_examples=150, deadline=None)
def test_one_byte_at_a_time_changes_nothing(output: bytes) -> None:
    assert in_pieces(MASKER, output, list(range(len(output)))) == MASKER.bytes(output)


@given(outputs)
@settings(max_examples=300, deadline=None)
def test_masking_twice_is_masking_once(output: bytes) -> None:
    once = MASKER.bytes(output)
    assert MASKER.bytes(once) == once


@given(outputs, st.lists(st.integers(0, 10_000), max_size=12))
@settings(max_examples=300, deadline=None)
def test_no_known_value_ever_comes_out(output: bytes, cuts: list[int]) -> None:
    masked = in_pieces(MASKER, output, cuts)
    for secret in SECRETS:
        assert secret.reveal().encode() not in masked


@given(
    st.lists(
        st.sampled_from([b"a", b"\n", b"\r", b" ", b" password=pw1 ", b"A" * 9, b" B "]),
        max_size=200,
    )
)
@settings(max_examples=200, deadline=None)
def test_lines_that_are_too_long_are_cut_alike(words: list[bytes]) -> None:
    """Hidden is a value that is shorter than a piece without its overlap."""
    output = b"".join(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "LONGEST_LINE", 64)
        patch.setattr(lines, "OVERLAP", 24)
        masker = Masker()
        whole = masker.bytes(output)
        assert in_pieces(masker, output, list(range(len(output)))) == whole
        assert in_pieces(masker, output, list(range(0, len(output), 7))) == whole
        assert b"pw1" not in whole


def test_a_line_is_given_away_as_soon_as_it_ends() -> None:
    stream = MASKER.stream()
    assert stream.feed(b"working\n50%\r") == b"working\n"
    assert stream.feed(b"60%\r~") == b"50%\r60%\r"
    assert stream.feed(b"one\n") == b"~one\n"
    assert stream.finish() == b""


def test_a_value_over_several_lines_is_held_back_only_while_it_may_go_on() -> None:
    stream = MASKER.stream()
    assert stream.feed(b"a\nfirst line of it\nsec") == b"a\n"
    assert stream.feed(b"ret\n") == "‹secret:LINES›\nsecret\n".encode()


def test_a_value_that_the_end_cuts_off_is_masked() -> None:
    assert MASKER.bytes(b"it is hunter2-corre") == "it is ‹secret:DB›".encode()
    assert MASKER.bytes(b"it is hunter2") == b"it is hunter2"


def test_overlapping_values_are_one_mask_under_the_longer_name() -> None:
    assert MASKER.text("<hunter2-correct-horse-battery>") == "<‹secret:DB›>"
    assert MASKER.text("<abababababababab>") == "<‹secret:REPEATED›>"


@pytest.mark.parametrize("kept", range(1, 9))
def test_a_private_key_is_hidden_whole_wherever_it_is_cut_off(kept: int) -> None:
    some = PRIVATE_KEY.splitlines(keepends=True)
    begun = "".join(some[:kept])
    assert MASKER.text(f"before\n{begun}after words\n") == (
        "before\n‹masked:private-key›\nafter words\n"
    )
    ended = "".join(some[min(kept, 6) :])
    assert MASKER.text(f"before\n{ended}after words\n") == (
        "before\n‹masked:private-key›\nafter words\n"
    )


@pytest.mark.parametrize(
    "written",
    [
        PRIVATE_KEY.replace("\n", "\r\n"),
        PRIVATE_KEY.replace("\n", "\\n"),
        PRIVATE_KEY.replace("\n", "\n    "),
        "".join(f"Nov 21 12:00:00 host app[1]: {line}\n" for line in PRIVATE_KEY.splitlines()),
        PRIVATE_KEY.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\n\n", 1),
        PRIVATE_KEY.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK").replace(
            "q2w=", "q2w=\n=Ab1d"
        ),
    ],
)
def test_a_private_key_is_hidden_however_it_is_written(written: str) -> None:
    masked = MASKER.text(f"{written}\nafter words\n")
    assert "MII" not in masked
    assert "q2w" not in masked
    assert masked.count("‹masked:private-key›") == 1
    assert masked.endswith("after words\n")


def test_two_keys_are_two_masks() -> None:
    masked = MASKER.text(PRIVATE_KEY + "between us\n" + PRIVATE_KEY)
    assert masked == "‹masked:private-key›\nbetween us\n‹masked:private-key›\n"


def test_certificates_and_public_keys_are_left_alone() -> None:
    for name in ("CERTIFICATE", "PUBLIC KEY"):
        text = PRIVATE_KEY.replace("RSA PRIVATE KEY", name)
        assert MASKER.text(text) == text


def test_any_bytes_go_through() -> None:
    output = bytes(itertools.chain(range(256), reversed(range(256)))) * 20
    assert Masker().bytes(output) == output
