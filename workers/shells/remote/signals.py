"""The exit code of a command that a signal ended: as in shells, 128 + the signal's number."""

import signal

UNKNOWN_SIGNAL = 255


def exit_code_of(name: str) -> int:
    """The exit code for a signal as SSH names it ("KILL" -> 137); 255 for an unknown signal."""
    number = getattr(signal, f"SIG{name}", None)
    return 128 + number if isinstance(number, signal.Signals) else UNKNOWN_SIGNAL
