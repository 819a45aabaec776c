"""The query of an address: what is selected, in which order, and which page of it."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from gang_scheduler.inspection.listing import gangs
from gang_scheduler.inspection.listing.states_and_orders import ORDERS
from gang_scheduler.page import node_map
from gang_scheduler.page.view import PAGE_SIZE, Wanted

LONGEST_TEXT: Final = 300
"""The longest text to search for, in characters."""
T = TypeVar("T")


def fields_of(query: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a query, without spaces around and cut to a length."""
    return {name: value.strip()[:LONGEST_TEXT] for name, value in query.items()}


def wanted(query: Mapping[str, str]) -> Wanted:
    """Return the gangs or decisions that are asked for."""
    order = query.get("sort", "")

    def words(field: str) -> frozenset[str]:
        return gangs.words([query.get(field, "")])

    return Wanted(
        states=words("state"),
        queues=words("queue"),
        namespaces=words("namespace"),
        reasons=words("reason"),
        kinds=words("kind"),
        text=query.get("text", ""),
        order=order if order in ORDERS else "",
    )


def wanted_nodes(query: Mapping[str, str]) -> node_map.Wanted:
    """Return the nodes that are asked for."""
    state = query.get("state", "")
    return node_map.Wanted(
        query.get("in", ""),
        query.get("gang", ""),
        state if state in node_map.SELECTED_BY else "",
        query.get("text", ""),
    )


def page_of(found: Sequence[T], query: Mapping[str, str]) -> tuple[int, int, Sequence[T]]:
    """Return the number of the requested page, the number of pages, and its items."""
    pages = max(1, -(-len(found) // PAGE_SIZE))
    number = min(_number(query.get("page", "")), pages)
    return number, pages, found[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]


def _number(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) < 7 else 1
