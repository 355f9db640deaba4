"""Which requests may be retried, and when."""

from __future__ import annotations

import errno
import socket
from typing import Optional
from urllib.error import URLError

from ._errors import GatewayError

_MAX_DELAY_SECONDS = 8.0
# Longest `retry_after` that the SDK waits for, in seconds. The gateway's rate limits have windows of 60 s. For a longer
# wait the caller gets the error.
_MAX_RETRY_AFTER_SECONDS = 60
_NEVER_CONNECTED = {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH}


def may_repeat(repeat: str, error: GatewayError) -> bool:
    """Returns True if a request may be retried after ``error``: a network error, 5xx or 429.

    With ``once``, only if the gateway surely did not carry it out.
    """
    if error.retry_after is not None and error.retry_after > _MAX_RETRY_AFTER_SECONDS:
        return False
    if error.status_code == 429:
        return True
    if error.code == "network_error":
        return repeat != "once" or _was_never_sent(error.__cause__)
    if error.status_code is None or error.status_code < 500:
        return False
    return repeat != "once" or error.code in ("service_unavailable", "account_moving")


def _was_never_sent(cause: Optional[BaseException]) -> bool:
    reason = cause.reason if isinstance(cause, URLError) else cause
    if isinstance(reason, socket.gaierror):
        return True
    return isinstance(reason, OSError) and reason.errno in _NEVER_CONNECTED


def delay_before(attempt: int, base_seconds: float, retry_after: Optional[int], random: float) -> float:
    """Returns the seconds to wait after attempt number ``attempt`` (from 1).

    It is ``retry_after`` plus a random part of ``base_seconds``. ``base_seconds`` doubles with each attempt, up to 8 s
    (full jitter). ``random`` is from 0 to 1.
    """
    longest = min(_MAX_DELAY_SECONDS, base_seconds * 2 ** (attempt - 1))
    return (retry_after or 0) + longest * random
