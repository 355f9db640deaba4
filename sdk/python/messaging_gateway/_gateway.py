from __future__ import annotations

import os
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
    """Sends push notifications. ``devices`` manages the devices that receive them."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.devices = resources.PushDevicesResource(transport)


class Webhooks(resources.WebhooksResource):
    """The account's webhooks, and the verification of received events."""

    def verify(
        self, raw_body: Union[bytes, str], headers: HeadersLike, secret: Union[str, Sequence[str]], **options: Any
    ) -> Dict[str, Any]:
        """Same as the function ``verify_webhook``, which needs no ``Gateway``."""
        return verify_webhook(raw_body, headers, secret, **options)


class FollowedEvent(NamedTuple):
    event: types.GatewayEvent
    #: Store it after you have handled the event, and pass it as ``after`` to continue from here. Of several events in
    #: one response, only the last one advances the cursor. After a crash the others come again.
    cursor: str


class EventFeed(resources.EventsResource):
    """The events of the account, in order and without gaps."""

    def follow(
        self, after: Optional[str] = None, poll_interval_seconds: float = _POLL_INTERVAL_SECONDS
    ) -> Iterator[FollowedEvent]:
        """Yields the stored events, then each new event, without an end.

        ``after`` is the cursor after which to start, or ``latest`` for new events only. By default it starts at the
        oldest event, up to 30 days back. Raises ``GatewayError``.
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
    """Phone numbers for which the carrier simulator has a fixed outcome."""

    #: The carrier accepts the SMS and delivers it about 1 s later.
    delivered: str = "+256700001000"
    #: The carrier rejects the SMS.
    rejected: str = "+256700000001"
    #: The carrier accepts the SMS and then reports it as undeliverable.
    undeliverable: str = "+256700000002"
    #: The carrier fails twice with a temporary error, then accepts the SMS.
    delayed: str = "+256700000003"
    #: The carrier accepts the SMS but never sends a delivery report.
    unreported: str = "+256700000004"


class Testing:
    """Helpers for tests and first steps. They need a gateway with simulated carriers."""

    numbers = TestNumbers()

    def __init__(self, messages: resources.MessagesResource, origin: str) -> None:
        self._messages = messages
        self._origin = origin

    def webhook_url(self, name: str = "sdk") -> str:
        """Returns the URL of the built-in webhook receiver, which answers with 200. Production has none."""
        return f"{self._origin}/simulator/webhook/{name}"

    def settled(self, message_id: str, timeout_seconds: float = 60.0) -> types.MessageDetails:
        """Returns the message when its status is ``delivered`` or ``failed``.

        It polls, so use webhooks in production instead. Raises ``GatewayError``, or ``TimeoutError`` after
        ``timeout_seconds``.
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
    """A client for the REST API of a messaging gateway, with one API key. Several threads may use it.

    Each send gets an idempotency key, and is retried with this key after network errors, 5xx and 429. So no message is
    sent or charged twice. A request that does not succeed raises a ``GatewayError``.
    """

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        *,
        signing_secret: Optional[str] = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 3,
        retry_delay_seconds: float = 0.5,
        on_try: Optional[Callable[[TriedRequest], None]] = None,
    ) -> None:
        """
        api_key: the full API key, ``msg_…``. It is a secret: keep it on servers. Default: ``GATEWAY_API_KEY`` of the
            environment.
        base_url: URL of the gateway, such as ``https://sms.example.com``, with or without ``/api/v1``. Default:
            ``GATEWAY_URL`` of the environment.
        signing_secret: the signing secret ``sigsec_…``, for API keys that must sign their requests.
        timeout_seconds: time limit in each attempt, for the connection and for each wait for bytes.
        max_retries: maximum number of retries after the first attempt.
        retry_delay_seconds: longest wait before the first retry. It doubles with each retry, and the actual wait is a
            random part of it.
        on_try: called after each attempt, for logs and metrics.

        Raises ``ValueError`` if an argument is missing or invalid.
        """
        if api_key is None:
            api_key = os.environ.get("GATEWAY_API_KEY", "")
        if base_url is None:
            base_url = os.environ.get("GATEWAY_URL", "")
        self._options = TransportOptions(
            api_key, base_url, signing_secret, timeout_seconds, max_retries, retry_delay_seconds, on_try
        )
        transport = Transport(self._options)
        self.account = resources.AccountResource(transport)
        self.sms = resources.SmsResource(transport)
        self.email = resources.EmailResource(transport)
        self.push = Push(transport)
        self.whatsapp = resources.WhatsappResource(transport)
        #: Messages of all channels, by id.
        self.messages = resources.MessagesResource(transport)
        self.contacts = resources.ContactsResource(transport)
        self.suppressions = resources.SuppressionsResource(transport)
        self.recipients = resources.RecipientsResource(transport)
        self.erasures = resources.ErasuresResource(transport)
        self.senders = resources.SendersResource(transport)
        self.alerts = resources.AlertsResource(transport)
        self.keys = resources.KeysResource(transport)
        self.webhooks = Webhooks(transport)
        self.events = EventFeed(transport)
        #: Simulated phone numbers and helpers for tests.
        self.testing = Testing(self.messages, transport.origin)

    def with_options(self, **options: Any) -> "Gateway":
        """Returns a client with other options, such as ``timeout_seconds`` for one call."""
        changed = self._options._replace(**options)._asdict()
        return Gateway(changed.pop("api_key"), changed.pop("base_url"), **changed)

    def __repr__(self) -> str:
        # The representation must not show the API key, because it can end up in logs.
        return f"Gateway({self._options.base_url!r})"
