"""Texts that shells evaluate as arithmetic, and that may run commands by it."""


def runs_in_arithmetic(text: str) -> bool:
    """Check whether a possible array index inside the text holds a substitution."""
    _, bracket, index = text.partition("[")
    return bool(bracket) and ("$(" in index or "`" in index)
