"""Lists of the gateway."""

from __future__ import annotations

import datetime
from typing import Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, TypeVar

from ._transport import ABSENT

Item = TypeVar("Item")

# The largest page that the gateway gives.
_WALK_LIMIT = 100


class Pages(Generic[Item]):
    """A list. ``page()`` gives the page that was asked for; iterating walks over all entries from that page on.

    Each page is asked for when it is come to. An entry that moves to the next page meanwhile is met once. An entry that
    moves to the page before, because another was deleted, is missed.
    """

    def __init__(
        self, load: Callable[[Mapping[str, Any]], Dict[str, Any]], query: Mapping[str, Any], is_pinned: bool
    ) -> None:
        self._load = load
        self._query = {name: value for name, value in query.items() if value is not ABSENT}
        # A walk is held to what was there when it began, by the query's `until`.
        self._is_pinned = is_pinned

    def page(self) -> Dict[str, Any]:
        """``{"data": [...], "pagination": {"page", "limit", "total", "pages"}}``."""
        return self._load(self._query)

    def pages(self) -> Iterator[Dict[str, Any]]:
        """The pages from the one that was asked for to the last."""
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
    """Where entries have no id they are told apart by themselves."""
    return item.get("id") or item.get("keyId") or item


def _newest_of(data: List[Any]) -> str:
    """A moment after the first entry, which is the newest: times are stored in smaller parts than they are shown in."""
    newest = datetime.datetime.fromisoformat(data[0]["createdAt"].replace("Z", "+00:00"))
    return (newest + datetime.timedelta(milliseconds=1)).isoformat(timespec="milliseconds")
