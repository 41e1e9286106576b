"""Translates errors of the anthropic SDK by who must act; only this module knows their names."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from shared.domain.errors import (
    Defect,
    Misconfigured,
    Rejected,
    ReplanError,
    Transient,
    Unavailable,
)
from shared.domain.next_step import Advice, NextStep, ShellCommand

FAMILIES: dict[str, type[ReplanError]] = {
    # nobody has to act: it will probably work later; Unavailable means down or busy, so wait
    "APIConnectionError": Unavailable,
    "APITimeoutError": Unavailable,
    "APIResponseValidationError": Transient,
    "RequestTimeoutError": Unavailable,
    "ConflictError": Transient,
    "RateLimitError": Unavailable,
    "RampLimitExceededError": Transient,
    "ClientClosedRequestError": Transient,
    "InternalServerError": Transient,
    "HTTPNotImplementedError": Transient,
    "ServiceUnavailableError": Unavailable,
    "GatewayTimeoutError": Unavailable,
    "OverloadedError": Unavailable,
    "CMEKKeyUnreachableError": Transient,
    "CMEKContextUnavailableError": Transient,
    "RetryableError": Transient,
    # the question cannot be answered in this form
    "BadRequestError": Rejected,
    "PreconditionFailedError": Rejected,
    "ContentTooLargeError": Rejected,
    "UnprocessableEntityError": Rejected,
    "RequestBodyEncodingInvalidError": Rejected,
    "RequestBodyEncodingUnsupportedError": Rejected,
    "RequestBodyTooLargeAfterDecodingError": Rejected,
    # the operator has to act: key, account, model name
    "AuthenticationError": Misconfigured,
    "PaymentRequiredError": Misconfigured,
    "PermissionDeniedError": Misconfigured,
    "NotFoundError": Misconfigured,
    "RequestHeaderFieldsTooLargeError": Misconfigured,
    "CredentialsError": Misconfigured,
    "IdentityTokenFileError": Misconfigured,
    "WorkloadIdentityError": Misconfigured,
    "MissingDependencyError": Misconfigured,
    "MutuallyExclusiveAuthError": Misconfigured,
    "SandboxEgressRestrictedError": Misconfigured,
    "OrganizationOnHoldError": Misconfigured,
    "OrganizationTypeNotSupportedError": Misconfigured,
    "ParentOrganizationRequiredError": Misconfigured,
    "ClaudeCodeKeyCreatorNotMemberError": Misconfigured,
    "ClaudeCodeVersionTooOldError": Misconfigured,
    "CMEKKeyDisabledError": Misconfigured,
    "CMEKKeyNetworkBlockedError": Misconfigured,
    "ContractSpendLimitReachedError": Misconfigured,
    "EnforcedSpendLimitReachedError": Misconfigured,
    "LinkedOrganizationBillingUnavailableError": Misconfigured,
    "LinkedOrganizationSpendLimitReachedError": Misconfigured,
    # never raised by the only call made here; if one is raised, this program has a defect
    "APIWebhookValidationError": Defect,
    "StreamAlreadyConsumed": Defect,
    "ToolsetUsageError": Defect,
}
"""The family of each error class. A class that is not listed counts as its nearest base class."""

_CARRIERS = frozenset({"httpx2", "httpx", "httpcore", "httpcore2"})

_OPERATOR_TYPES = frozenset(
    {"authentication_error", "billing_error", "permission_error", "not_found_error"}
)
"""The `error.type` of answers that only the operator can change, whatever the status code."""

_BUSY_TYPES = frozenset({"overloaded_error", "rate_limit_error", "timeout_error"})
"""The `error.type` of a service that is down or busy; a broken stream has no status code."""

_BAD_GATEWAY = 502

_SET_KEY = ShellCommand("export ANTHROPIC_API_KEY=KEY")
_SET_MODEL = ShellCommand("export REPLAN_MODEL=NAME")
_NEXT: dict[int, Advice] = {401: _SET_KEY, 403: _SET_KEY, 404: _SET_MODEL}


def family_of(error: BaseException) -> type[ReplanError]:
    """The family of an SDK error; Defect for an unknown error."""
    status = getattr(error, "status_code", None)
    if getattr(error, "type", None) in _OPERATOR_TYPES and status not in {429, 529}:
        return Misconfigured
    if getattr(error, "type", None) in _BUSY_TYPES or status == _BAD_GATEWAY:
        return Unavailable
    if status == HTTPStatus.OK:  # the error came in the middle of an answer
        return Transient
    for kind in type(error).__mro__:
        if kind.__name__ in FAMILIES:
            return FAMILIES[kind.__name__]
    if isinstance(status, int):
        return Transient if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Rejected
    return Defect


def translate(error: BaseException, *, stage: str, next_step: Advice | None = None) -> ReplanError:
    """The error as one of this program's own. A Rejected error gets `next_step`."""
    reason = _reason(error)
    family = family_of(error)
    if issubclass(family, Transient):
        return family(reason, stage=stage, retry_after=retry_after(error))
    if family is Misconfigured:
        status = getattr(error, "status_code", None)
        known = _NEXT.get(status or 0, NextStep.of("config show"))
        return Misconfigured(reason, stage=stage, next_step=known)
    return family(reason, stage=stage, next_step=next_step)


def is_connection_error(error: BaseException) -> bool:
    """Whether the HTTP library lost the connection: in a stream, its errors arrive unwrapped."""
    return any(kind.__module__.partition(".")[0] in _CARRIERS for kind in type(error).__mro__)


def retry_after(error: BaseException) -> float | None:
    """The seconds that the provider asks to wait; nothing sleeps here because of it."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            asked = float(headers.get(name, ""))
        except ValueError:
            continue
        if 0 <= asked < float("inf"):
            return asked * unit
    return _until(headers.get("retry-after", ""), headers.get("date", ""))


def _until(moment: str, now: str) -> float | None:
    try:
        then = parsedate_to_datetime(moment)
        since = parsedate_to_datetime(now) if now else datetime.now(UTC)
        return max((then - since).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


def _reason(error: BaseException) -> str:
    status = getattr(error, "status_code", None)
    said = getattr(error, "api_message", None) or str(error) or type(error).__name__
    cause = error.__cause__
    told = f"the model answered {status}: {said}" if status else f"the model: {said}"
    if not status and cause is not None and str(cause):
        told += f" ({cause})"
    request_id = getattr(error, "request_id", None)
    return f"{told} (request {request_id})" if request_id else told
