"""Translates errors of the providers' libraries by who must act; only it knows their names."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

from shared.domain.errors import (
    Defect,
    Misconfigured,
    Rejected,
    ReplanError,
    Transient,
    Unavailable,
)
from shared.domain.next_step import Advice, Blank, NextStep
from workers.llm.providers import SET_MODEL

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
    # where the credentials for Bedrock and Vertex AI come from, and OpenAI's workload identity
    "SubjectTokenProviderError": Misconfigured,
    "BotoCoreError": Misconfigured,
    "HTTPClientError": Unavailable,
    "ClientError": Misconfigured,
    "GoogleAuthError": Misconfigured,
    "TransportError": Unavailable,
    "ParserError": Transient,
    "ResponseParserError": Transient,
    # never raised by the only call made here; if one is raised, this program has a defect
    "APIRemovedInV1": Defect,
    "APIWebhookValidationError": Defect,
    "ContentFilterFinishReasonError": Defect,
    "InvalidWebhookSignatureError": Defect,
    "LengthFinishReasonError": Defect,
    "WebSocketConnectionClosedError": Defect,
    "WebSocketQueueFullError": Defect,
    "StreamAlreadyConsumed": Defect,
    "ToolsetUsageError": Defect,
}
"""The family of each error class. A class that is not listed counts as its nearest base class."""

_CARRIERS = frozenset({"httpx2", "httpx", "httpcore", "httpcore2"})
_LIBRARIES = frozenset({"anthropic", "openai", "boto3", "botocore", "google"})

_OPERATOR_TYPES = frozenset(
    {"authentication_error", "billing_error", "permission_error", "not_found_error"}
)
"""The `error.type` of answers that only the operator can change, whatever the status code."""

_BUSY_TYPES = frozenset(
    {
        "overloaded_error",
        "rate_limit_error",
        "timeout_error",
        "modelTimeoutException",
        "serviceUnavailableException",
        "throttlingException",
    }
)
"""The `error.type` of a service that is down or busy; a broken stream has no status code."""

_SPENT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""The `error.code` of an account without money, which OpenAI answers with 429."""

_FAMILY_OF_STATUS: Final[dict[int, type[ReplanError]]] = {
    402: Misconfigured,
    408: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
    529: Unavailable,
}
"""Status codes that mean the same whatever class of error a library makes of them."""

_REFUSED_ENTRY = frozenset({401, 403})
_ONCE_PAID = NextStep.of("task resume", Blank("TASK"))


def family_of(error: BaseException) -> type[ReplanError]:
    """The family of an SDK error; Defect for an unknown error."""
    status = getattr(error, "status_code", None)
    if getattr(error, "code", None) in _SPENT_CODES:
        return Misconfigured
    if getattr(error, "type", None) in _OPERATOR_TYPES and status not in {429, 529}:
        return Misconfigured
    if getattr(error, "type", None) in _BUSY_TYPES:
        return Unavailable
    if status in _FAMILY_OF_STATUS:
        return _FAMILY_OF_STATUS[status]
    if status == HTTPStatus.OK:  # the error came in the middle of an answer
        return Transient
    for kind in type(error).__mro__:
        if kind.__name__ in FAMILIES:
            return FAMILIES[kind.__name__]
    if isinstance(status, int):
        return Transient if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Rejected
    return Defect


def translate(
    error: BaseException,
    *,
    stage: str,
    next_step: Advice | None = None,
    sign_in: Advice | None = None,
) -> ReplanError:
    """The error as one of this program's own.

    A Rejected error gets `next_step`; one about the key or the account gets `sign_in`.
    """
    reason = _reason(error)
    family = family_of(error)
    if issubclass(family, Transient):
        return family(reason, stage=stage, retry_after=retry_after(error))
    if family is Misconfigured:
        return Misconfigured(reason, stage=stage, next_step=_way_in(error, sign_in))
    return family(reason, stage=stage, next_step=next_step)


def is_connection_error(error: BaseException) -> bool:
    """Whether the HTTP library lost the connection: in a stream, its errors arrive unwrapped."""
    return any(kind.__module__.partition(".")[0] in _CARRIERS for kind in type(error).__mro__)


def is_library_error(error: BaseException) -> bool:
    """Whether a provider's library raised it as an error of its own."""
    return any(kind.__module__.partition(".")[0] in _LIBRARIES for kind in type(error).__mro__)


def _way_in(error: BaseException, sign_in: Advice | None) -> Advice:
    status = getattr(error, "status_code", None)
    if status == HTTPStatus.NOT_FOUND:
        return SET_MODEL
    if status == HTTPStatus.PAYMENT_REQUIRED or getattr(error, "code", None) in _SPENT_CODES:
        return _ONCE_PAID
    by_key = status in _REFUSED_ENTRY or status is None
    return sign_in if by_key and sign_in is not None else NextStep.of("config show")


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
    said = _message(error) or str(error) or type(error).__name__
    cause = error.__cause__
    told = f"the model answered {status}: {said}" if status else f"the model: {said}"
    if not status and cause is not None and str(cause):
        told += f" ({cause})"
    request_id = getattr(error, "request_id", None)
    return f"{told} (request {request_id})" if request_id else told


def _message(error: BaseException) -> str:
    """The message in the body of the answer; empty if there is none."""
    body: Any = getattr(error, "body", None)
    told = getattr(error, "api_message", None)
    if not told and isinstance(body, dict):
        told = body.get("message") or body.get("Message")
    return told if isinstance(told, str) else ""
