"""The Python client of the messaging gateway: SMS, email, push and WhatsApp, with safe retries and webhook verification."""

from ._errors import (
    AccessError,
    BalanceError,
    ConflictError,
    GatewayError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    UnavailableError,
    UncertainError,
)
from ._gateway import FollowedEvent, Gateway
from ._pages import Pages
from ._transport import ABSENT, TriedRequest
from ._version import VERSION as __version__
from ._webhooks import WebhookSignatureError, sign_webhook, verify_webhook

__all__ = [
    "ABSENT",
    "AccessError",
    "BalanceError",
    "ConflictError",
    "FollowedEvent",
    "Gateway",
    "GatewayError",
    "InvalidRequestError",
    "NotFoundError",
    "Pages",
    "RateLimitError",
    "TriedRequest",
    "UnavailableError",
    "UncertainError",
    "WebhookSignatureError",
    "__version__",
    "sign_webhook",
    "verify_webhook",
]
