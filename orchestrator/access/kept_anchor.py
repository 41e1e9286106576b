"""The anchor of the last check of the audit, kept where who writes to the database cannot."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.access.chain import Anchor, parse_anchor
from shared.domain.errors import Rejected

FOLDER = "audit-anchors"


class KeptAnchor:
    """The anchor of one database, in the data folder of who checks it.

    The database is known by its address, without the account; at another one, a check begins anew.
    """

    def __init__(self, data_dir: Path, database_url: str) -> None:
        parts = urlsplit(database_url)
        address = f"{parts.netloc.rpartition('@')[2]}{parts.path}"
        self.path = data_dir / FOLDER / hashlib.sha256(address.encode()).hexdigest()[:16]

    def read(self) -> Anchor | None:
        """The anchor; None if there is none, or it cannot be read."""
        try:
            return parse_anchor(self.path.read_text(encoding="ascii").strip())
        except (OSError, UnicodeDecodeError, Rejected):
            return None

    def write(self, anchor: Anchor) -> None:
        """Keep an anchor in place of the one before; where that is not possible, none is kept."""
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.write_text(f"{anchor}\n", encoding="ascii")
            fresh.replace(self.path)
