"""Verifies the signatures of received webhooks."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

_TOLERANCE_SECONDS = 300
# Maximum number of signature headers that are checked. The gateway sends one.
_SIGNATURES_MAX = 5

HeadersLike = Union[Mapping[str, str], Iterable[Tuple[str, str]]]


class WebhookSignatureError(Exception):
    """The request is not from the gateway, or its signature is too old. Answer 400 and do nothing."""


def verify_webhook(
    raw_body: Union[bytes, str],
    headers: HeadersLike,
    secret: Union[str, Sequence[str]],
    *,
    tolerance_seconds: int = _TOLERANCE_SECONDS,
    now: Optional[float] = None,
) -> Dict[str, Any]:
    """Returns the event of a webhook request, if ``raw_body`` was signed with ``secret`` at most 300 seconds ago.

    ``deliveryId`` is added to the event: the id of the delivery, the same in every attempt. It is None if the header is
    missing. The signature does not cover it.

    Any header of the form ``X-<name>-Signature`` is accepted, because operators choose the name of their service. While
    a secret is rotated with an overlap, the gateway signs with both, so either secret fits. Pass several secrets if
    there is no overlap. The comparison takes constant time.

    Raises a ``WebhookSignatureError`` that says what is wrong, or a ``TypeError`` if the body was already parsed.
    """
    if not isinstance(raw_body, (bytes, bytearray, str)):
        raise TypeError("The body was parsed before its signature was checked. Pass the raw bytes.")
    body = raw_body.encode() if isinstance(raw_body, str) else bytes(raw_body)
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets or not all(secrets):
        raise ValueError("The secret is missing: pass the whsec_… of the endpoint.")
    entries = _entries(headers)
    signed = _signatures(entries)
    if not signed:
        raise WebhookSignatureError("There is no header X-…-Signature with t=…,v1=….")
    present = int(time.time() if now is None else now)
    fresh = [each for each in signed if abs(present - int(each.t)) <= tolerance_seconds]
    if not fresh:
        raise WebhookSignatureError(
            f"The signature's time is more than {tolerance_seconds} s away from this clock."
        )
    for t, v1, name in fresh:
        if any(hmac.compare_digest(_digest(each, t, body), v1) for each in secrets):
            event: Dict[str, Any] = json.loads(body)
            service = name[: -len("-previous")] if name.endswith("-previous") else name
            return {**event, "deliveryId": entries.get(f"x-{service}-delivery")}
    raise WebhookSignatureError("The signature does not fit the body and the secret.")


def sign_webhook(raw_body: Union[bytes, str], secret: str, now: Optional[float] = None) -> str:
    """Returns the signature header's value for a body, as the gateway makes it. Meant for tests of receivers."""
    body = raw_body.encode() if isinstance(raw_body, str) else raw_body
    t = str(int(time.time() if now is None else now))
    return f"t={t},v1={_digest(secret, t, body)}"


class _Signature(NamedTuple):
    t: str
    v1: str
    #: The service's name in the header, in lowercase.
    name: str


def _entries(headers: HeadersLike) -> Dict[str, str]:
    """Returns the headers by their lowercase name."""
    pairs: Iterable[Tuple[str, str]] = headers.items() if hasattr(headers, "items") else headers  # type: ignore
    return {str(name).lower(): str(value) for name, value in pairs}


def _signatures(entries: Mapping[str, str]) -> List[_Signature]:
    found: List[_Signature] = []
    for header, value in entries.items():
        name = re.fullmatch(r"x-([a-z0-9-]{1,100})-signature", header)
        parts = re.fullmatch(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})", value)
        if name and parts:
            found.append(_Signature(parts[1], parts[2], name[1]))
    return found[:_SIGNATURES_MAX]


def _digest(secret: str, t: str, body: bytes) -> str:
    return hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
