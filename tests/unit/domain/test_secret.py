"""Names of secrets in texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.secret import BadName, is_name, name_at, reference, secret_names

names = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,63}", fullmatch=True)


@given(
    st.lists(names, max_size=5), st.lists(st.text("ab ${}:\n'", max_size=8), min_size=6, max_size=6)
)
def test_what_is_written_is_found_once_each_and_in_order(
    written: list[str], between: list[str]
) -> None:
    text = between[0] + "".join(
        reference(name) + other for name, other in zip(written, between[1:], strict=False)
    )
    assert secret_names(text) == tuple(dict.fromkeys(written))


@pytest.mark.parametrize(
    "text",
    [
        "${secret:}", "${secret:1}", "${secret:_A}", "${secret:a-b}",
        "${secret:a b}", "${secret:é}", "${SECRET:A}", "${ secret:A}", "${secret :A}",
        "${secret:A ", "${secret:A\n}",
        f"${{secret:{'x' * 65}}}", "${secret:${secret:A}}",
    ],
)  # fmt: skip
def test_what_was_meant_for_a_name_and_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadName, match=r"write \$\{secret:NAME\}"):
        secret_names(f"before {text} after")


@pytest.mark.parametrize(
    "text", ["", "$secret:A", "${secret}", "${secrets:A}", "{secret:A}", "${x:A}"]
)
def test_other_texts_name_none(text: str) -> None:
    assert secret_names(text) == ()


def test_where_a_name_ends() -> None:
    assert name_at("x${secret:A_1}y", 1) == ("A_1", 14)
    assert is_name("a" * 64)
    assert not is_name("A\n")
