"""What a host says about a preview: whatever it is, the answer is a preview or the lack of one."""

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.preview import NoPreview, Preview
from workers.shells.preview import read

_NAMES = (
    *("none", "changed", "created", "deleted", "was", "is", "had", "has", "digest", "files"),
    *("same", "diff", "attributes", "code", "ended", "complaint", "service", "signal", "process"),
    *("device", "full", "lacks", "mount", "unmounted", "many", "fixed", "done", "?"),
)
_VALUES = st.one_of(
    st.sampled_from(
        ("", "/a", "/a/b", "81a4 0 0 5 1", "81a4 0 0 5", "0", "time", "yes", "8:1 / /")
    ),
    st.text(alphabet="\0 /=-a1\n", max_size=9),
)


def _output(fields: list[tuple[str, str]]) -> bytes:
    return b"".join(f"{name}={value}\0".encode() for name, value in fields)


@given(st.lists(st.tuples(st.sampled_from(_NAMES), _VALUES), max_size=12), st.booleans())
def test_whatever_a_host_says_is_read(fields: list[tuple[str, str]], whole: bool) -> None:
    end = [("done", "yes")] if whole else []
    assert isinstance(read(_output(fields + end), contents=True), Preview)


def test_what_no_script_prints_is_not_a_preview() -> None:
    told = [("changed", "/a"), ("was", ""), ("is", "81a4 0 0 5 1"), ("done", "yes")]
    assert read(_output(told), contents=True).none is NoPreview.FAILED
