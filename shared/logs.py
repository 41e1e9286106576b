"""Logs: one JSON object a line in services, colours on a terminal; never a URL's password.

Text of others steers no terminal on which they are read.
"""

import logging
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from shared.visible import can_write_all, visible

_QUIET = (
    "kombu",
    "amqp",
    "httpx",
    "httpcore",
    "anthropic",
    "openai",
    "botocore",
    "google",
    "alembic",
    "sqlalchemy",
)
"""Libraries that log their routine work at `info`; only `warning` and above are kept."""


_PASSWORD = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^\s/?#@:]*:)[^\s/]*@", re.IGNORECASE)
_PARAMETER = re.compile(r"(?P<before>[?&](?:password|sslpassword)=)[^&\s]*", re.IGNORECASE)


def mask_passwords(text: str) -> str:
    """The text with the password of every URL in it as `***`."""
    return _PARAMETER.sub(r"\g<before>***", _PASSWORD.sub(r"\g<before>***@", text))


def configure_logs(
    level: str = "info", stream: TextIO | None = None, mask: Callable[[str], str] = str
) -> None:
    """Set up this process's logs, those of libraries included; called by composition roots only.

    `level` is debug, info, warning or error; `stream` defaults to stderr. Every text goes through
    `mask`, which must not raise.
    """
    discreet = _without_secrets(mask)
    out = stream or sys.stderr
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        discreet,
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
                *_rendering(discreet, mask, out),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [output]
    root.setLevel(_number(level))
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, _number(level)))


def _without_secrets(mask: Callable[[str], str]) -> Processor:
    def discreet(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {
            key: mask_passwords(mask(value)) if isinstance(value, str) else value
            for key, value in event.items()
        }

    return discreet


def _visible_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: visible(each) if isinstance(each, str) else each for key, each in event.items()}


def _visible_line(_logger: WrappedLogger, _method: str, line: Any) -> str:
    return visible(str(line))


def _render_error(mask: Callable[[str], str]) -> Callable[[TextIO, ExcInfo], None]:
    def tell(out: TextIO, error: ExcInfo) -> None:
        text = "".join(traceback.format_exception(*error))
        out.write(f"\n{visible(mask_passwords(mask(text)))}")

    return tell


def _rendering(discreet: Processor, mask: Callable[[str], str], out: TextIO) -> list[Processor]:
    if out.isatty():
        # No traceback shows the values of its variables.
        return [
            _visible_values,
            structlog.dev.ConsoleRenderer(exception_formatter=_render_error(mask)),
        ]
    return [
        structlog.processors.format_exc_info,
        discreet,
        # What the stream replaces in place of a sign that it lacks would be no JSON.
        structlog.processors.JSONRenderer(ensure_ascii=not can_write_all(out), default=str),
        _visible_line,
    ]


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]
