"""How an end by signal is told: as shells do, 128 + the signal's number."""

import signal

UNKNOWN_SIGNAL = 255


def exit_code_of(name: str) -> int:
    """The exit code for a signal as SSH names it ("KILL" -> 137); 255 when it is unknown here."""
    number = getattr(signal, f"SIG{name}", None)
    return 128 + number if isinstance(number, signal.Signals) else UNKNOWN_SIGNAL
