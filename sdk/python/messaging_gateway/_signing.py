"""Signs requests, for API keys with ``enableHmac``."""

from __future__ import annotations

import hashlib
import hmac
import random
import threading
import time
from typing import Callable, Dict, Set

# How far a timestamp may be from now, in seconds. The gateway accepts 120 s; the rest is for clocks that differ.
_REACH_SECONDS = 90
_SPENT_MAX = 10_000
# Number of random timestamps to try. It is enough to find one of a few that are unused.
_TRIES_MAX = 1_000


class RequestSigner:
    """Signs requests for API keys with ``enableHmac``."""

    def __init__(self, secret: str, now: Callable[[], float] = time.time) -> None:
        self._secret = secret.encode()
        self._now = now
        # What was signed with which timestamp. The gateway accepts a signature only once.
        self._spent: Set[str] = set()
        self._lock = threading.Lock()

    def headers_for(self, method: str, path: str, body: bytes) -> Dict[str, str]:
        """Returns the two signature headers.

        ``path`` begins with ``/api/v1`` and has no query. ``body`` must be sent with exactly these bytes.
        """
        digest = hashlib.sha256(body).hexdigest()
        timestamp = self._fresh_timestamp(method + path, digest)
        message = f"{method}{path}{timestamp}{digest}".encode()
        signature = hmac.new(self._secret, message, hashlib.sha256).hexdigest()
        return {"X-Timestamp": timestamp, "X-Signature": signature}

    def _fresh_timestamp(self, target: str, digest: str) -> str:
        """Returns the current second. If an equal request was signed with it, returns a random second near it instead.

        Two equal requests with the same timestamp would have the same signature. The gateway refuses the second one.
        """
        now = int(self._now())
        seconds = now
        with self._lock:
            for _ in range(_TRIES_MAX):
                use = f"{seconds} {target} {digest}"
                if use not in self._spent:
                    self._remember(use, now)
                    return str(seconds)
                # Random, because other processes may sign the same request with the same API key.
                seconds = now + random.randint(-_REACH_SECONDS, _REACH_SECONDS)
        # Nearly all possible timestamps are used. The gateway refuses the request with a clear error.
        return str(now)

    def _remember(self, use: str, now: int) -> None:
        self._spent.add(use)
        if len(self._spent) > _SPENT_MAX:
            self._spent = {each for each in self._spent if int(each.split(" ", 1)[0]) >= now - _REACH_SECONDS}
