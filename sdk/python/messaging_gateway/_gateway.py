from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Sequence, Union

from . import _resources as resources
from . import _types as types
from ._transport import Transport, TransportOptions, TriedRequest
from ._webhooks import HeadersLike, verify_webhook

_POLL_INTERVAL_SECONDS = 2.0
_SLICE = 100
_LOOK_INTERVAL_SECONDS = 0.25


class Push(resources.PushResource):
    """Push messages, and the devices that they go to."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.devices = resources.PushDevicesResource(transport)


class Webhooks(resources.WebhooksResource):
    """The account's webhook endpoints, and the check that a receiver makes."""

    def verify(
        self, raw_body: Union[bytes, str], headers: HeadersLike, secret: Union[str, Sequence[str]], **options: Any
    ) -> Dict[str, Any]:
        """As ``verify_webhook``, which needs no ``Gateway``."""
        return verify_webhook(raw_body, headers, secret, **options)


class FollowedEvent(NamedTuple):
    event: types.GatewayEvent
    #: Keep it once you have handled the event, and pass it as ``after`` to go on from here. Where events arrive together
    #: it moves with the last of them: after a crash those come again.
    cursor: str


class EventFeed(resources.EventsResource):
    """The account's events in their order, without gaps."""

    def follow(
        self, after: Optional[str] = None, poll_interval_seconds: float = _POLL_INTERVAL_SECONDS
    ) -> Iterator[FollowedEvent]:
        """Each event, and then each new one as it happens, for ever.

        ``after`` is the cursor to go on from, or ``latest`` for what happens from now on; without it the oldest event,
        30 days back, is the first. Raises ``GatewayError``.
        """
        while True:
            given = {} if after is None else {"after": after}
            found = self.list(limit=_SLICE, **given)
            for index, event in enumerate(found["data"]):
                is_last = index == len(found["data"]) - 1
                yield FollowedEvent(event, found["cursor"] if is_last else (after or "0"))
            after = found["cursor"]
            if not found["hasMore"]:
                time.sleep(poll_interval_seconds)


class TestNumbers(NamedTuple):
    """Numbers by which the carrier simulator decides what becomes of an SMS."""

    #: Accepted, and delivered about a second later.
    delivered: str = "+256700001000"
    #: Refused by the carrier.
    rejected: str = "+256700000001"
    #: Accepted, then reported undeliverable.
    undeliverable: str = "+256700000002"
    #: Fails twice for the time being, then is accepted.
    delayed: str = "+256700000003"
    #: Accepted; no delivery report ever comes.
    unreported: str = "+256700000004"


class Testing:
    """For tests and first steps, with a gateway whose carriers are simulated."""

    numbers = TestNumbers()

    def __init__(self, messages: resources.MessagesResource, origin: str) -> None:
        self._messages = messages
        self._origin = origin

    def webhook_url(self, name: str = "sdk") -> str:
        """A webhook address that the gateway itself answers with 200, outside production only."""
        return f"{self._origin}/simulator/webhook/{name}"

    def settled(self, message_id: str, timeout_seconds: float = 60.0) -> types.MessageDetails:
        """The message once it is ``delivered`` or ``failed``.

        Asks again and again: a program in production should let webhooks tell it. Raises ``GatewayError``, and
        ``TimeoutError`` after ``timeout_seconds``.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            message = self._messages.get(message_id)
            if message["status"] in ("delivered", "failed"):
                return message
            if time.monotonic() >= deadline:
                raise TimeoutError(f"Message {message_id} is still {message['status']} after {timeout_seconds} s.")
            time.sleep(_LOOK_INTERVAL_SECONDS)


class Gateway:
    """The REST API of a messaging gateway, with one API key. May be used by several threads.

    Sends get an idempotency key each and are repeated with it after network errors, 5xx and 429, so that none is sent or
    charged twice. What does not succeed is a ``GatewayError``.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        signing_secret: Optional[str] = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 3,
        retry_delay_seconds: float = 0.5,
        on_try: Optional[Callable[[TriedRequest], None]] = None,
    ) -> None:
        """
        api_key: the full key, ``msg_…``. Keep it on servers.
        base_url: where the gateway is, such as ``https://sms.example.com``, with or without ``/api/v1``.
        signing_secret: ``sigsec_…``, of a key that signs its requests.
        timeout_seconds: for each try: for the connection and for each wait for bytes.
        max_retries: tries after the first.
        retry_delay_seconds: a try waits a random part of it, doubled with each try.
        on_try: called after each try, for logs and metrics.

        Raises ``ValueError`` that says which is missing or wrong.
        """
        self._options = TransportOptions(
            api_key, base_url, signing_secret, timeout_seconds, max_retries, retry_delay_seconds, on_try
        )
        transport = Transport(self._options)
        self.account = resources.AccountResource(transport)
        self.sms = resources.SmsResource(transport)
        self.email = resources.EmailResource(transport)
        self.push = Push(transport)
        self.whatsapp = resources.WhatsappResource(transport)
        #: Messages of any channel, by id.
        self.messages = resources.MessagesResource(transport)
        self.contacts = resources.ContactsResource(transport)
        self.keys = resources.KeysResource(transport)
        self.webhooks = Webhooks(transport)
        self.events = EventFeed(transport)
        #: Numbers and addresses that are simulated.
        self.testing = Testing(self.messages, transport.origin)

    def with_options(self, **options: Any) -> "Gateway":
        """The same, with other options, such as ``timeout_seconds`` for one call."""
        changed = self._options._replace(**options)._asdict()
        return Gateway(changed.pop("api_key"), changed.pop("base_url"), **changed)

    def __repr__(self) -> str:
        # Without the key.
        return f"Gateway({self._options.base_url!r})"
