"""The errors of the SDK. Each class says what to do next.

*Refused* means that the gateway answered with an error ``code``, so it did not do what was requested.
*Uncertain* means that no answer of the gateway arrived, or that the gateway does not know the outcome. It may have done
what was requested.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Type


class GatewayError(Exception):
    """A request that did not succeed. Each subclass says what to do next."""

    #: A code of the gateway, or one of two codes of the SDK. ``network_error``: no response arrived.
    #: ``bad_gateway_response``: the response is not from the gateway.
    code: str
    #: HTTP status of the response, or None if no response arrived.
    status_code: Optional[int]
    #: What is wrong and what would be right.
    message: str
    #: More about the refusal. Its members depend on the code.
    details: Dict[str, Any]
    #: The id of the request in the gateway's logs.
    request_id: Optional[str]
    #: Seconds to wait before a retry, if the gateway gave a number.
    retry_after: Optional[int]
    #: Retrying with this idempotency key within 24 hours sends nothing twice. None for requests without such a key.
    idempotency_key: Optional[str]
    #: Number of attempts that were made.
    attempts: int

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status_code: Optional[int],
        details: Optional[Dict[str, Any]] = None,
        request_id: Optional[str] = None,
        retry_after: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        attempts: int = 1,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status_code = status_code
        self.details = details or {}
        self.request_id = request_id
        self.retry_after = retry_after
        self.idempotency_key = idempotency_key
        self.attempts = attempts


class InvalidRequestError(GatewayError):
    """Status 400, 413 or 415: change the request. ``details["fields"]`` lists the invalid fields, if there are any."""


class AccessError(GatewayError):
    """Status 401 or 403: use another API key, or give this key the missing scope or permission."""


class BalanceError(GatewayError):
    """Status 402: top up the account. ``details`` has ``balance``, ``required`` and ``currency``."""


class NotFoundError(GatewayError):
    """Status 404: nothing with this id exists for this API key."""


class ConflictError(GatewayError):
    """Status 409: the current state does not allow the request. Read the state first."""


class RateLimitError(GatewayError):
    """Status 429: wait ``retry_after`` seconds before a retry."""


class UnavailableError(GatewayError):
    """Status 503 with ``service_unavailable``: the request was not carried out. Retry later."""


class UncertainError(GatewayError):
    """The request may have been carried out: no response arrived, or the gateway does not know the outcome.

    Retry with the same ``idempotency_key``, or look the message up with ``details["messageId"]`` if it is there. A
    retry with another key could send twice.
    """


_BY_STATUS: Dict[Optional[int], Type[GatewayError]] = {
    400: InvalidRequestError,
    401: AccessError,
    402: BalanceError,
    403: AccessError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    429: RateLimitError,
    500: UncertainError,
    502: UncertainError,
    503: UnavailableError,
}


def error_class(code: str, status_code: Optional[int]) -> Type[GatewayError]:
    """Returns the subclass that fits the code and the status."""
    if code in ("network_error", "outcome_unknown"):
        return UncertainError
    # The response is not from the gateway. Below 500, a proxy refused the request, so the gateway did not get it.
    if code == "bad_gateway_response":
        return UncertainError if (status_code or 0) >= 500 else GatewayError
    return _BY_STATUS.get(status_code, GatewayError)
