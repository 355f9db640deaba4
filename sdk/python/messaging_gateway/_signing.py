"""Request signatures, for keys with ``enableHmac``."""

from __future__ import annotations

import hashlib
import hmac
import random
import threading
import time
from typing import Callable, Dict, Set

# A timestamp may be 120 seconds off; this leaves some to clocks that differ.
_REACH_SECONDS = 90
_SPENT_MAX = 10_000
# Enough to find one of a few that are left.
_TRIES_MAX = 1_000


class RequestSigner:
    """Signs requests as keys with ``enableHmac`` must."""

    def __init__(self, secret: str, now: Callable[[], float] = time.time) -> None:
        self._secret = secret.encode()
        self._now = now
        # What was signed, with its timestamp: a signature passes once.
        self._spent: Set[str] = set()
        self._lock = threading.Lock()

    def headers_for(self, method: str, path: str, body: bytes) -> Dict[str, str]:
        """The two headers. ``path`` begins with ``/api/v1`` and has no query; ``body`` is sent in exactly these bytes."""
        digest = hashlib.sha256(body).hexdigest()
        timestamp = self._fresh_timestamp(method + path, digest)
        message = f"{method}{path}{timestamp}{digest}".encode()
        signature = hmac.new(self._secret, message, hashlib.sha256).hexdigest()
        return {"X-Timestamp": timestamp, "X-Signature": signature}

    def _fresh_timestamp(self, target: str, digest: str) -> str:
        """The present second, or a random one near it where these bytes were signed with that before.

        Two equal requests with one timestamp would have one signature.
        """
        now = int(self._now())
        seconds = now
        with self._lock:
            for _ in range(_TRIES_MAX):
                use = f"{seconds} {target} {digest}"
                if use not in self._spent:
                    self._remember(use, now)
                    return str(seconds)
                # Random, because other processes may sign the same with the same key.
                seconds = now + random.randint(-_REACH_SECONDS, _REACH_SECONDS)
        # Nearly all that can pass are spent: the gateway refuses it, and says why.
        return str(now)

    def _remember(self, use: str, now: int) -> None:
        self._spent.add(use)
        if len(self._spent) > _SPENT_MAX:
            self._spent = {each for each in self._spent if int(each.split(" ", 1)[0]) >= now - _REACH_SECONDS}
