"""Errors: the class says what to do next.

A *refusal* is the gateway's own answer, which says in ``code`` what it did not do. *Uncertain* means that no answer of
the gateway arrived, so the request may have been carried out.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Type


class GatewayError(Exception):
    """A request that did not succeed. The subclasses say what to do next."""

    #: The gateway's code, or ``network_error`` or ``bad_gateway_response``, which are made here.
    code: str
    #: HTTP status; None where no answer came.
    status_code: Optional[int]
    #: What is wrong and what would be right.
    message: str
    #: What the refusal is about; its members depend on the code.
    details: Dict[str, Any]
    #: Names the request in the gateway's logs.
    request_id: Optional[str]
    #: Seconds after which a repeat makes sense, where the gateway says so.
    retry_after: Optional[int]
    #: A repeat with this key within 24 hours sends nothing twice; None for a request that takes none.
    idempotency_key: Optional[str]
    #: How often the request was tried.
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
    """400, 413 and 415: change the request; ``details["fields"]`` names what is wrong where there is a list of it."""


class AccessError(GatewayError):
    """401 and 403: use another key, or give this one what it lacks."""


class BalanceError(GatewayError):
    """402: top up the account; ``details`` has ``balance``, ``required`` and ``currency``."""


class NotFoundError(GatewayError):
    """404: there is no such thing for this key."""


class ConflictError(GatewayError):
    """409: the thing is not in a state for this; look at it first."""


class RateLimitError(GatewayError):
    """429: wait ``retry_after`` seconds, then ask again."""


class UnavailableError(GatewayError):
    """503 ``service_unavailable``: it was not done; ask again later."""


class UncertainError(GatewayError):
    """It may have been done: no answer came, or the gateway does not know.

    Repeat it with the same ``idempotency_key``, or look it up (``details["messageId"]`` of a send, where it is known);
    repeating it otherwise could do it twice.
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
    """The class that says what to do next."""
    if code in ("network_error", "outcome_unknown"):
        return UncertainError
    # Below 500 something else answered, and the gateway did not see the request.
    if code == "bad_gateway_response":
        return UncertainError if (status_code or 0) >= 500 else GatewayError
    return _BY_STATUS.get(status_code, GatewayError)
