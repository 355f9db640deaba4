"""Lists that the gateway returns in pages."""

from __future__ import annotations

import datetime
from typing import Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, TypeVar

from ._transport import ABSENT

Item = TypeVar("Item")

# Entries on a page when all pages are loaded. The gateway allows no larger page.
_WALK_LIMIT = 100


class Pages(Generic[Item]):
    """A list. ``page()`` returns the requested page. Iterating yields all entries from that page on.

    It loads each page when it is needed. If an entry moves to the next page meanwhile, it is yielded once. If an entry
    moves to the previous page, because another one was deleted, it is missed.
    """

    def __init__(
        self, load: Callable[[Mapping[str, Any]], Dict[str, Any]], query: Mapping[str, Any], is_pinned: bool
    ) -> None:
        self._load = load
        self._query = {name: value for name, value in query.items() if value is not ABSENT}
        # True if an iteration covers only the entries that existed at its start, by the query parameter `until`.
        self._is_pinned = is_pinned

    def page(self) -> Dict[str, Any]:
        """Returns ``{"data": [...], "pagination": {"page", "limit", "total", "pages"}}``."""
        return self._load(self._query)

    def pages(self) -> Iterator[Dict[str, Any]]:
        """Yields the requested page and all pages after it."""
        query = {"limit": _WALK_LIMIT, **self._query}
        number = query.get("page", 1)
        while True:
            page = self._load({**query, "page": number})
            yield page
            if not page["data"] or number >= page["pagination"]["pages"]:
                return
            if self._is_pinned and number == 1 and query.get("until") is None:
                query["until"] = _newest_of(page["data"])
            number += 1

    def __iter__(self) -> Iterator[Item]:
        before: List[Any] = []
        for page in self.pages():
            for item in page["data"]:
                if _id_of(item) not in before:
                    yield item
            before = [_id_of(item) for item in page["data"]]


def _id_of(item: Mapping[str, Any]) -> Optional[Any]:
    """Returns what identifies an entry: its id or key id, or the entry itself if it has neither."""
    return item.get("id") or item.get("keyId") or item


def _newest_of(data: List[Any]) -> str:
    """Returns a time shortly after the first entry, which is the newest.

    The gateway stores times with more digits than it shows, so the shown time itself would exclude this entry.
    """
    newest = datetime.datetime.fromisoformat(data[0]["createdAt"].replace("Z", "+00:00"))
    return (newest + datetime.timedelta(milliseconds=1)).isoformat(timespec="milliseconds")
