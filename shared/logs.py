"""Logs: one JSON object a line in services, colours on a terminal; never a URL's password."""

import logging
import re
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_QUIET = ("kombu", "amqp", "httpx", "httpcore", "anthropic", "alembic", "sqlalchemy")
"""Libraries that narrate their work at `info`; they are heard from `warning` on."""


_PASSWORD = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^\s/?#@:]*:)[^\s/]*@", re.IGNORECASE)
_PARAMETER = re.compile(r"(?P<before>[?&](?:password|sslpassword)=)[^&\s]*", re.IGNORECASE)


def masked(text: str) -> str:
    """The text with the password of every URL in it as `***`."""
    return _PARAMETER.sub(r"\g<before>***", _PASSWORD.sub(r"\g<before>***@", text))


def configure_logs(level: str = "info", stream: TextIO | None = None) -> None:
    """Set up this process's logs, those of libraries included; called by composition roots only.

    `level` is debug, info, warning or error; `stream` defaults to stderr.
    """
    out = stream or sys.stderr
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        without_passwords,
    ]
    structlog.configure(
        processors=[*before, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(_number(level)),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    output = logging.StreamHandler(out)
    output.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *before],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(out.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [output]
    root.setLevel(_number(level))
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, _number(level)))


def without_passwords(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Every text of an entry with the passwords of URLs masked."""
    return {key: masked(value) if isinstance(value, str) else value for key, value in event.items()}


def _rendering(terminal: bool) -> list[Processor]:
    if terminal:
        return [structlog.dev.ConsoleRenderer()]
    return [
        structlog.processors.format_exc_info,
        without_passwords,
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
    ]


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]
