"""A generated password, kept in a file that only its owner can read."""

import os
import secrets
from pathlib import Path


def read_or_create(file: Path) -> str:
    """The password in `file`, generated on the first call.

    The file has mode 600 and appears with all of its content or not at all.
    """
    try:
        return file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(secrets.token_urlsafe(24) + "\n")
    fresh.replace(file)
    return file.read_text(encoding="ascii").strip()
