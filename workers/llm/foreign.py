"""The errors of the anthropic SDK, sorted by who must act; only here are their names known."""

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
    # nobody has to act: it will probably work later; what is away or busy is waited for
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
    # the question cannot be answered as it was put
    "BadRequestError": Rejected,
    "PreconditionFailedError": Rejected,
    "ContentTooLargeError": Rejected,
    "UnprocessableEntityError": Rejected,
    "RequestBodyEncodingInvalidError": Rejected,
    "RequestBodyEncodingUnsupportedError": Rejected,
    "RequestBodyTooLargeAfterDecodingError": Rejected,
    # the operator has to act: key, account, name of the model
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
    # never raised by the one call that is made here; if it is, this program is wrong
    "APIWebhookValidationError": Defect,
    "StreamAlreadyConsumed": Defect,
    "ToolsetUsageError": Defect,
}
"""What each class of error means. A class that is not listed counts as the nearest it inherits."""

_CARRIERS = frozenset({"httpx2", "httpx", "httpcore", "httpcore2"})

_OPERATOR_TYPES = frozenset(
    {"authentication_error", "billing_error", "permission_error", "not_found_error"}
)
"""`error.type` of an answer that only the operator can change, whatever its status code."""

_BUSY_TYPES = frozenset({"overloaded_error", "rate_limit_error", "timeout_error"})
"""`error.type` of what is away or busy: in the middle of an answer there is no status code."""

_BAD_GATEWAY = 502

_SET_KEY = ShellCommand("export ANTHROPIC_API_KEY=KEY")
_SET_MODEL = ShellCommand("export REPLAN_MODEL=NAME")
_NEXT: dict[int, Advice] = {401: _SET_KEY, 403: _SET_KEY, 404: _SET_MODEL}


def family_of(error: BaseException) -> type[ReplanError]:
    """The family of an error of the SDK; Defect for one that is not known at all."""
    status = getattr(error, "status_code", None)
    if getattr(error, "type", None) in _OPERATOR_TYPES and status not in {429, 529}:
        return Misconfigured
    if getattr(error, "type", None) in _BUSY_TYPES or status == _BAD_GATEWAY:
        return Unavailable
    if status == HTTPStatus.OK:  # it came in the middle of an answer
        return Transient
    for kind in type(error).__mro__:
        if kind.__name__ in FAMILIES:
            return FAMILIES[kind.__name__]
    if isinstance(status, int):
        return Transient if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Rejected
    return Defect


def translate(error: BaseException, *, stage: str, next_step: Advice | None = None) -> ReplanError:
    """The error as this program knows it. `next_step` is given to a Rejected one."""
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
    """Whether what carries the SDK's connections lost one: in a stream it says so itself."""
    return any(kind.__module__.partition(".")[0] in _CARRIERS for kind in type(error).__mro__)


def retry_after(error: BaseException) -> float | None:
    """The seconds that the other side asked to be left alone; never a reason to sleep here."""
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
