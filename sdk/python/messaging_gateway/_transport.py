"""Sends requests and retries them where that is safe. Raises a GatewayError if a request does not succeed."""

from __future__ import annotations

import datetime
import email.utils
import http.client
import json
import math
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Callable, Dict, Mapping, NamedTuple, NoReturn, Optional, Tuple

from ._errors import GatewayError, error_class
from ._retries import delay_before, may_repeat
from ._signing import RequestSigner
from ._version import VERSION

API_PATH = "/api/v1"
# How often a refused signature is replaced. A second that a busy key used already is found again with a chance of about
# one in eight: six tries leave one in 200,000.
_SIGNED_ANEW_MAX = 6
_QUOTED_MAX = 200
_PIECE_BYTES = 65_536


class Absent:
    """Marks an argument that is not sent. ``None`` is sent as null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class Operation(NamedTuple):
    """An operation of the REST API."""

    method: str
    #: The path after ``/api/v1``.
    path: str
    #: Whether a retry is safe: yes (``always``), only with the idempotency key (``keyed``), no (``once``).
    repeat: str


class TriedRequest(NamedTuple):
    """One attempt, for logs and metrics."""

    method: str
    #: The path without the query.
    path: str
    #: Number of the attempt, from 1.
    attempt: int
    duration_seconds: float
    #: HTTP status of the response, or None if no response arrived.
    status_code: Optional[int]
    request_id: str


class TransportOptions(NamedTuple):
    api_key: str
    base_url: str
    signing_secret: Optional[str]
    timeout_seconds: float
    max_retries: int
    retry_delay_seconds: float
    on_try: Optional[Callable[[TriedRequest], None]]


class _Call(NamedTuple):
    """The parts of a call that are the same in every attempt."""

    operation: Operation
    url: str
    body: Optional[bytes]
    idempotency_key: Optional[str]
    request_id: str


# It uses the proxies of the environment variables. It has no handlers that follow redirects or raise for an error
# status.
_opener = urllib.request.OpenerDirector()
for _handler in (
    urllib.request.ProxyHandler,
    urllib.request.UnknownHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
):
    _opener.add_handler(_handler())


class Transport:
    """Sends the requests of one API key to one gateway. Several threads may use it."""

    def __init__(self, options: TransportOptions) -> None:
        if not options.api_key:
            raise ValueError("api_key is missing: pass the key msg_… that the gateway showed, or set GATEWAY_API_KEY.")
        if not options.base_url:
            raise ValueError(
                "base_url is missing: pass the address of the gateway, such as http://127.0.0.1:3000, or set GATEWAY_URL."
            )
        self.options = options
        self._base_url = _api_url(options.base_url)
        self._signer = RequestSigner(options.signing_secret) if options.signing_secret is not None else None

    @property
    def origin(self) -> str:
        """URL of the gateway, without ``/api/v1``."""
        return self._base_url[: -len(API_PATH)]

    def call(
        self,
        operation: Operation,
        *,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Any:
        """Runs an operation and returns the parsed response body. Raises ``GatewayError``."""
        is_keyed = operation.repeat == "keyed"
        call = _Call(
            operation,
            self._base_url + operation.path + _query_text(query or {}),
            None if body is None else _json_bytes(body),
            (idempotency_key or str(uuid.uuid4())) if is_keyed else None,
            str(uuid.uuid4()),
        )
        attempt = 1
        while True:
            try:
                return self._try(call, attempt)
            except GatewayError as error:
                if not self._may_sign_anew(error, attempt):
                    if attempt > self.options.max_retries or not may_repeat(operation.repeat, error):
                        raise
                    base = self.options.retry_delay_seconds
                    time.sleep(delay_before(attempt, base, error.retry_after, random.random()))
            attempt += 1

    def _may_sign_anew(self, error: GatewayError, attempt: int) -> bool:
        """Returns True if a refused signature may be replaced.

        Two processes that send equal requests in the same second make the same signature. The gateway accepts it once
        and answers 401 to the others. A request with 401 was not carried out, so a retry is safe and does not count as
        one of ``max_retries``.
        """
        return self._signer is not None and error.status_code == 401 and attempt <= _SIGNED_ANEW_MAX

    def _try(self, call: _Call, attempt: int) -> Any:
        started_at = time.monotonic()
        status: Optional[int] = None
        try:
            # Each attempt gets a new signature, because the gateway accepts a signature only once.
            request = urllib.request.Request(
                call.url, data=call.body, method=call.operation.method, headers=self._headers(call)
            )
            response = _opener.open(request, timeout=self.options.timeout_seconds)
            status = response.status
            with response:
                text = _read(response, started_at + self.options.timeout_seconds)
        except (OSError, http.client.HTTPException) as cause:
            _raise_network_error(call, attempt, cause)
        finally:
            if self.options.on_try is not None:
                method, path, _ = call.operation
                duration = time.monotonic() - started_at
                self.options.on_try(TriedRequest(method, path, attempt, duration, status, call.request_id))
        return _answer(call, attempt, status or 0, response.headers, text)

    def _headers(self, call: _Call) -> Dict[str, str]:
        headers = {
            "Accept": "application/json",
            "User-Agent": f"messaging-gateway-client-python/{VERSION}",
            "X-Api-Key": self.options.api_key,
            "X-Request-Id": call.request_id,
        }
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if call.idempotency_key is not None:
            headers["Idempotency-Key"] = call.idempotency_key
        if self._signer is not None:
            path = API_PATH + call.operation.path
            headers.update(self._signer.headers_for(call.operation.method, path, call.body or b""))
        return headers


def segment(identifier: str) -> str:
    """Encodes an id as one segment of a path. Raises ``ValueError`` if it would change the path, like ``..``."""
    if not isinstance(identifier, str) or identifier in ("", ".", ".."):
        raise ValueError(f"The id is missing: {identifier!r} names nothing.")
    return urllib.parse.quote(identifier, safe="")


def _api_url(base_url: str) -> str:
    parts = urllib.parse.urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(f"base_url is no address: {base_url}. It looks like http://127.0.0.1:3000.")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path if path.endswith(API_PATH) else path + API_PATH}"


def _query_text(query: Mapping[str, Any]) -> str:
    pairs = [(name, _query_value(value)) for name, value in query.items() if value is not ABSENT and value is not None]
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def _query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _time_text(value) if isinstance(value, datetime.datetime) else str(value)


def _json_bytes(body: Mapping[str, Any]) -> bytes:
    given = {name: value for name, value in body.items() if value is not ABSENT}
    return json.dumps(given, ensure_ascii=False, separators=(",", ":"), default=_time_text).encode()


def _time_text(value: Any) -> str:
    if not isinstance(value, datetime.datetime):
        raise TypeError(f"{value!r} cannot be sent as JSON.")
    if value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone: make it with tzinfo=timezone.utc, for example.")
    return value.isoformat()


def _read(response: Any, deadline: float) -> bytes:
    """Returns the whole body. The socket limits only the time for each piece, so this limits the total time."""
    pieces = []
    while True:
        piece = response.read(_PIECE_BYTES)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        if time.monotonic() > deadline:
            raise TimeoutError("the answer did not end in time")


def _answer(call: _Call, attempt: int, status: int, headers: Mapping[str, str], raw: bytes) -> Any:
    """Returns the parsed body of a successful response.

    Raises a ``GatewayError`` if the gateway refused, or if the response is not from the gateway.
    """
    text = raw.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except ValueError:
        _raise_foreign_answer(call, attempt, status, headers, text)
    if 200 <= status < 300:
        return body
    refusal = _refusal(body)
    if refusal is None:
        _raise_foreign_answer(call, attempt, status, headers, text)
    code, message, details, retry_after = refusal
    waiting = _seconds(headers.get("Retry-After"))
    raise error_class(code, status)(
        message,
        code=code,
        status_code=status,
        details=details,
        request_id=headers.get("X-Request-Id") or call.request_id,
        retry_after=retry_after if waiting is None else waiting,
        idempotency_key=call.idempotency_key,
        attempts=attempt,
    )


def _refusal(body: Any) -> Optional[Tuple[str, str, Dict[str, Any], Optional[int]]]:
    """Reads an error: ``{"error": code, "message"}`` or ``{"error": {"code", "message", "details"}}``, else None."""
    if not isinstance(body, dict) or "error" not in body:
        return None
    error = body["error"]
    said = {**body, **error} if isinstance(error, dict) else {**body, "code": error}
    code, message, details, retry_after = (said.get(name) for name in ("code", "message", "details", "retryAfter"))
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    waiting = retry_after if isinstance(retry_after, int) else None
    return code, message, details if isinstance(details, dict) else {}, waiting


def _seconds(header: Optional[str]) -> Optional[int]:
    """Returns the seconds of a ``Retry-After`` header, which has a number or a date."""
    if header is None:
        return None
    if re.fullmatch(r"[0-9]+", header):
        return int(header)
    try:
        return max(0, math.ceil(email.utils.parsedate_to_datetime(header).timestamp() - time.time()))
    except (TypeError, ValueError):
        return None


def _raise_foreign_answer(
    call: _Call, attempt: int, status: int, headers: Mapping[str, str], text: str
) -> NoReturn:
    location = headers.get("Location")
    hint = (
        "A proxy in between may have sent it, or base_url is wrong."
        if location is None
        else f"It leads to {location}: set base_url."
    )
    code = "bad_gateway_response"
    raise error_class(code, status)(
        f"{call.operation.method} {call.operation.path}: the answer {status} is not the gateway's. {hint}",
        code=code,
        status_code=status,
        details={"contentType": headers.get("Content-Type"), "body": text[:_QUOTED_MAX]},
        request_id=call.request_id,
        retry_after=_seconds(headers.get("Retry-After")),
        idempotency_key=call.idempotency_key,
        attempts=attempt,
    )


def _raise_network_error(call: _Call, attempt: int, cause: BaseException) -> NoReturn:
    reason = cause.reason if isinstance(cause, urllib.error.URLError) else cause
    code = "network_error"
    raise error_class(code, None)(
        f"{call.operation.method} {call.operation.path}: {reason or type(reason).__name__}",
        code=code,
        status_code=None,
        request_id=call.request_id,
        idempotency_key=call.idempotency_key,
        attempts=attempt,
    ) from cause
