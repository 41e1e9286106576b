"""Secrets and output to hide them in."""

from itertools import pairwise

from hypothesis import strategies as st

from shared.secrets.encodings import forms
from shared.secrets.masking import Masker
from shared.secrets.value import Secret

KEY_BODY = "\n".join(
    f"{n:02d}" + "MIIEowIBAAKCAQEA7bq98x2zQk5W0nYhV3tRjP6cLs1uFgDoEaXiTz81+/" for n in range(6)
)
PRIVATE_KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\nq2w=\n-----END RSA PRIVATE KEY-----\n"

SECRETS = (
    Secret("DB", "hunter2-correct-horse"),
    Secret("SIGNS", "a b\"c$d/e+f&é'\\ü"),
    Secret("REPEATED", "ababababab"),
    Secret("OUTER", "correct-horse-battery"),
    Secret("LINES", "first line of it\nsecond line\nthird"),
    Secret("KEY", PRIVATE_KEY.replace("MII", "XYZ")),
)
MASKER = Masker(SECRETS)

PIECES = [
    *(form for secret in SECRETS[:5] for form in sorted(forms(secret.reveal()))[::5]),
    *(line.encode() for line in SECRETS[5].reveal().splitlines()),
    *(secret.reveal().encode() for secret in SECRETS),
    b"hunter2\x1b[31m-correct-\x1b[0mhorse",
    *(secret.reveal().encode()[:-2] for secret in SECRETS),
    PRIVATE_KEY.encode(),
    *(line.encode() for line in PRIVATE_KEY.splitlines(keepends=True)),
    b"password=", b"--token ", b"Authorization: Bearer ", b"postgres://u:", b"@h/", b"'", b'"',
    b"AKIAIOSFODNN7EXAMPLE", b"eyJhbGciOiJI.eyJzdWIiOiIx.x", b"ghp_" + b"a1" * 18,
    b"\r", b"\n", b"\r\n", b"\n", b" ", b"x", b"\0", b"\xff\xfe", b"\xe2\x80", b"\x1b[31m",
    b"progress 10%\r", b"\\",
    "‹secret:DB›".encode(), "‹masked:token›".encode(), "‹".encode(),
    b"ordinary words ", b"Unpacking libssl3:amd64 (3.0.2-0ubuntu1) ...\n",
]  # fmt: skip

outputs = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)), max_size=14).map(
    b"".join
)


def in_pieces(masker: Masker, output: bytes, cuts: list[int]) -> bytes:
    """What a stream gives for the output, cut there."""
    stream = masker.stream()
    places = sorted({0, len(output), *(cut % (len(output) + 1) for cut in cuts)})
    given = [stream.feed(output[a:b]) for a, b in pairwise(places)]
    return b"".join((*given, stream.finish()))
