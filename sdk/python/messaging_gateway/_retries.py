"""Which requests may be sent again, and when."""

from __future__ import annotations

import errno
import socket
from typing import Optional
from urllib.error import URLError

from ._errors import GatewayError

_MAX_DELAY_SECONDS = 8.0
# The gateway's windows have 60 seconds; who is told to wait for longer decides for himself.
_MAX_RETRY_AFTER_SECONDS = 60
_NEVER_CONNECTED = {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH}


def may_repeat(repeat: str, error: GatewayError) -> bool:
    """Whether a request may be sent again after ``error``: after a network error, a 5xx or a 429.

    Of what could be done twice (``once``) only where it was surely not done.
    """
    if error.retry_after is not None and error.retry_after > _MAX_RETRY_AFTER_SECONDS:
        return False
    if error.status_code == 429:
        return True
    if error.code == "network_error":
        return repeat != "once" or _was_never_sent(error.__cause__)
    if error.status_code is None or error.status_code < 500:
        return False
    return repeat != "once" or error.code == "service_unavailable"


def _was_never_sent(cause: Optional[BaseException]) -> bool:
    reason = cause.reason if isinstance(cause, URLError) else cause
    if isinstance(reason, socket.gaierror):
        return True
    return isinstance(reason, OSError) and reason.errno in _NEVER_CONNECTED


def delay_before(attempt: int, base_seconds: float, retry_after: Optional[int], random: float) -> float:
    """Seconds to wait before the try after ``attempt``, the first of which is 1.

    Any part of ``base_seconds``, doubled with each try up to 8 seconds (full jitter), on top of what the gateway asks
    for.
    """
    longest = min(_MAX_DELAY_SECONDS, base_seconds * 2 ** (attempt - 1))
    return (retry_after or 0) + longest * random
