"""Variables of the environment that a planner may not see: by their names they hold a secret."""

import re

_USE = re.compile(r"\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*)")
_SECRET = re.compile(
    r"SECRET|TOKEN|PASSW|PASSPHRASE|_PWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE|_KEY$|_AUTH$|_DSN$",
    re.IGNORECASE,
)


def hidden_variable(command: str) -> str | None:
    """The first variable in a command whose name tells that it holds a secret; None for none."""
    return next((name for name in _USE.findall(command) if _SECRET.search(name)), None)
