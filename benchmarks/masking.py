"""What masking costs: a stream of log output with fifty known secrets, beside the naive way.

python -m benchmarks.masking
"""

import random
import re
import string
import time
from collections.abc import Callable

from shared.secrets.encodings import forms
from shared.secrets.masking import Masker
from shared.secrets.rules import RULES
from shared.secrets.value import Secret

CHUNK = 65_536
_LETTERS = string.ascii_letters + string.digits + "+/=!$&%-_."

_LINES = (
    "2026-11-21T12:00:{n:02d}.123Z web1 nginx[812]: 10.0.0.{n} GET /api/v1/items?page={n} 200 12ms",
    "Get:{n} http://deb.example.org/debian bookworm/main amd64 libssl3 amd64 3.0.{n}-1 [2,013 kB]",
    "Unpacking libssl3:amd64 (3.0.{n}-1~deb12u2) over (3.0.11-1~deb12u1) ...",
    "Nov 21 12:00:{n:02d} web1 systemd[1]: Started postgresql@16-main.service - Postgres.",
    "tests/unit/core/test_law.py::test_a_law_of_the_machine[{n}] PASSED",
    "  [{n}/250] Compiling CXX object src/CMakeFiles/core.dir/storage/page_cache_{n}.cc.o",
    "{n}f86d081884c7d659a2feaa0c55ad015a3bf4f1b refs/tags/v1.{n}.0",
    "web{n}: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 pulled",
)
_SUSPICIOUS = (
    "sshd[{n}]: Accepted password for deploy from 10.0.0.{n} port 5122{n} ssh2",
    'level=info msg="token refreshed" session={n} user=deploy',
    "export DB_PASSWORD=made-up-{n} # of no vault",
)  # fmt: skip


def secrets(count: int = 50) -> list[Secret]:
    """Made-up secrets: passwords and tokens of 12 to 40 characters, and two keys of 25 lines."""
    chance = random.Random(4)  # noqa: S311 - chance, no secret

    def text(length: int) -> str:
        return "".join(chance.choice(_LETTERS) for _ in range(length))

    values = [text(chance.randint(12, 40)) for _ in range(count - 2)]
    values += ["\n".join(text(64) for _ in range(25)) for _ in range(2)]
    return [Secret(f"S{number}", value) for number, value in enumerate(values)]


def output(size: int, known: list[Secret]) -> bytes:
    """About so many bytes of log: 1 line in 33 looks suspicious, 1 in 100 holds a known secret."""
    chance = random.Random(5)  # noqa: S311 - chance, no secret
    lines: list[str] = []
    length = 0
    while length < size:
        kinds = _SUSPICIOUS if chance.random() < 1 / 33 else _LINES
        line = chance.choice(kinds).format(n=chance.randint(1, 59))
        if chance.random() < 1 / 100:
            line += " " + chance.choice(known).reveal().partition("\n")[0]
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines).encode()


def naive(known: list[Secret], content: bytes) -> bytes:
    """One alternation of all forms, longest first, then every rule over every line."""
    listed = {form: secret.name for secret in known for form in forms(secret.reveal())}
    longest_first = sorted(listed, key=len, reverse=True)
    pattern = re.compile(b"|".join(map(re.escape, longest_first)))
    content = pattern.sub(lambda found: listed[found[0]].encode(), content)
    lines = content.split(b"\n")
    for rule in RULES:
        lines = [rule.pattern.sub(b"", line) for line in lines]
    return b"\n".join(lines)


def streamed(masker: Masker, content: bytes) -> bytes:
    """The same through a stream, in pieces."""
    stream = masker.stream()
    pieces = range(0, len(content), CHUNK)
    given = [stream.feed(content[at : at + CHUNK]) for at in pieces]
    return b"".join((*given, stream.finish()))


def speed(act: Callable[[bytes], bytes], content: bytes) -> float:
    """Megabytes a second of this processor's time."""
    begun = time.process_time()
    act(content)
    return len(content) / 1e6 / (time.process_time() - begun)


def measure(size: int, naive_size: int, rounds: int = 3) -> tuple[float, float]:
    """Ours and the naive way, megabytes a second: the best of some rounds, taken in turn."""
    known = secrets()
    masker = Masker(known)
    content = output(size, known)
    ours, other = 0.0, 0.0
    for _ in range(rounds):
        ours = max(ours, speed(lambda text: streamed(masker, text), content))
        other = max(other, speed(lambda text: naive(known, text), content[:naive_size]))
    return ours, other


def main() -> None:
    """Measure, and print it."""
    ours, other = measure(20_000_000, 200_000)
    print(
        f"masking, 50 known secrets: {ours:.1f} MB/s; "
        f"naive {other:.2f} MB/s; {ours / other:.0f} times"
    )


if __name__ == "__main__":
    main()
