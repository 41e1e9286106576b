"""The fixtures that every test may ask for: real services, started once and ended with the run."""

import signal

pytest_plugins = (
    "tests.services.databases",
    "tests.services.redis_server",
    "tests.services.ring",
    "tests.services.breakable",
    "tests.services.sshd",
)


def pytest_configure() -> None:
    """A worker of a parallel run ignores SIGINT; what tests start would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
