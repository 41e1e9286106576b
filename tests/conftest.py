"""The fixtures that every test may ask for: real services, started once and ended with the run."""

pytest_plugins = (
    "tests.services.databases",
    "tests.services.redis_server",
    "tests.services.ring",
    "tests.services.breakable",
    "tests.services.sshd",
)
