"""The screens: the content of each; its layout is in a template."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from aiohttp import web

from gang_scheduler.inspection.explaining.timeline import EVICTED, WAITS
from gang_scheduler.inspection.listing import states_and_orders
from gang_scheduler.inspection.listing.states_and_orders import ORDERS
from gang_scheduler.page import (
    gpu_history,
    lookups,
    node_map,
    queries,
    rendering,
    timeline,
    view,
)
from gang_scheduler.page.answering import Asked, Handler
from gang_scheduler.page.bodies import Body
from gang_scheduler.page.node_map import NodeMap
from gang_scheduler.page.view import PAGE_SIZE, Wanted

FIRST: Final = 8
"""How many gangs and decisions the first screen has."""
KINDS_OF_DECISIONS: Final[Mapping[str, str]] = {
    "All": "",
    "Evictions": ",".join(sorted({*EVICTED, "Reclaimed"})),
    "Starts": ",".join(sorted(rendering.STARTS)),
    "Waits": ",".join(sorted(WAITS)),
}
"""Words for kinds of decisions, and the reasons of their Events; "": all reasons."""
FEW: Final = 40
"""How many domains and queues the first screen has."""


class Screens:
    """Makes screens; `draw` makes the body of one by its template."""

    def __init__(self, draw: Callable[..., Body]) -> None:
        self._draw = draw

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of all addresses."""
        return {
            "/": self._overview,
            "/gangs": self._gangs,
            "/gangs/{namespace}/{name:.+}": self._gang,
            "/queues": self._queues,
            "/queues/{name}": self._queue,
            "/nodes": self._nodes,
            "/nodes/{name}": self._node,
            "/decisions": self._decisions,
            "/search": _search,
        }

    def _overview(self, asked: Asked) -> Body:
        seen, query = asked.seen, queries.fields_of(asked.query)
        waiting, shown, forms = seen.waiting, seen.node_map(), _forms_of_map("/", query)
        in_table = shown if forms["as_table"] else None
        return self._draw(
            asked,
            "overview.html",
            waiting=waiting[:FIRST],
            more=max(0, len(waiting) - FIRST),
            decisions=view.events_of(seen, Wanted())[:FIRST],
            trees=[(tree, tree.lines[:FEW]) for tree in seen.trees],
            queues=seen.queues[:FEW],
            kinds=KINDS_OF_DECISIONS,
            map=shown,
            **forms,
            **({} if in_table is None else _table_of_nodes(in_table, "/", query)),
            usage=gpu_history.picture(seen.known.uses),
        )

    def _gangs(self, asked: Asked) -> Body:
        seen, query = asked.seen, queries.fields_of(asked.query)
        found = view.selected(seen, queries.wanted(query))
        rows, paging = _page_of(found, "/gangs", query)
        return self._draw(
            asked,
            "gangs.html",
            asked=query,
            rows=rows,
            **paging,
            choices={
                "state": list(states_and_orders.STATES),
                "queue": sorted({row.queue for row in seen.rows if row.queue}),
                "namespace": sorted({row.key.namespace for row in seen.rows}),
                "kind": sorted({row.kind for row in seen.rows}),
                "reason": sorted({row.wait.reason for row in seen.rows if row.wait.reason}),
                "sort": list(ORDERS),
            },
        )

    def _gang(self, asked: Asked) -> Body:
        seen, namespace, name = asked.seen, asked.named["namespace"], asked.name
        found = lookups.gang(seen, namespace, name)
        line = seen.timeline(name, namespace)
        return self._draw(
            asked,
            "gang.html",
            timeline=line,
            picture=timeline.picture(line) if line is not None else None,
            name=f"{namespace}/{name}",
            found=found.document,
            several=[(each, *lookups.several(each)) for each in found.several],
            row=next((row for row in seen.rows if row.name == f"{namespace}/{name}"), None),
        )

    def _queues(self, asked: Asked) -> Body:
        return self._draw(asked, "queues.html", queues=asked.seen.queues, name="", rows=[])

    def _queue(self, asked: Asked) -> Body:
        lines, rows = lookups.queue(asked.seen, asked.name)
        return self._draw(asked, "queues.html", queues=lines, name=asked.name, rows=rows)

    def _nodes(self, asked: Asked) -> Body:
        query = queries.fields_of(asked.query)
        found = lookups.nodes(asked.seen, query)
        if found is None:
            return self._draw(asked, "nodes.html", map=None)
        turn = functools.partial(rendering.with_query, "/nodes", query)
        domain = query.get("in", "")
        below = node_map.domains_below(found, domain)
        gang = next((key for key in found.gangs if str(key) == query.get("gang")), None)
        return self._draw(
            asked,
            "nodes.html",
            map=found,
            asked=query,
            states=node_map.SELECTED_BY,
            crumbs=list(lookups.crumbs(domain, turn)),
            below=[(each.split("/")[-1], turn(**{"in": each, "page": ""})) for each in below[:FEW]],
            more_below=max(0, len(below) - FEW),
            gang_address=lookups.gang_address(gang) if gang else "",
            without_gang=turn(gang="", page=""),
            data_address=rendering.with_query(
                "/api/v1/nodes", {each: query.get(each, "") for each in ("topology", "in")}
            ),
            **_forms_of_map("/nodes", query),
            **_table_of_nodes(found, "/nodes", query),
        )

    def _node(self, asked: Asked) -> Body:
        shown = lookups.node(asked.seen, asked.name)
        return self._draw(
            asked,
            "node.html",
            shown=shown,
            taints=[str(each) for each in shown.node.taints],
            known={row.key for row in asked.seen.rows},
            requests=lambda pod: dict(pod.pod_class.requests),
        )

    def _decisions(self, asked: Asked) -> Body:
        seen, query = asked.seen, queries.fields_of(asked.query)
        found = view.events_of(seen, queries.wanted(query))
        return self._draw(
            asked,
            "decisions.html",
            asked=query,
            kinds=KINDS_OF_DECISIONS,
            decisions=found[: 4 * PAGE_SIZE],
            found=len(found),
            choices={
                "namespace": sorted({each.namespace for each in seen.events}),
                "reason": sorted({each.reason for each in seen.events}),
            },
        )


def _search(asked: Asked) -> Body:
    """Redirect to the object of the name, or to the gangs that contain the text."""
    text = queries.fields_of(asked.query).get("q", "")
    raise web.HTTPFound(lookups.address_of(asked.seen, text))


def _forms_of_map(path: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Return whether a screen shows its map as a table, and the addresses of both forms."""
    form = functools.partial(rendering.with_query, path, query, page="")
    return {
        "as_table": query.get("as") == "table",
        "table_address": form(**{"as": "table"}),
        "map_address": form(**{"as": ""}),
    }


def _table_of_nodes(found: NodeMap, path: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Return one page of the selected nodes as rows of a table."""
    chosen = node_map.selected(found, queries.wanted_nodes(query))
    part, paging = _page_of(chosen, path, query)
    return {"lines": node_map.lines(found, part), **paging}


def _page_of(
    found: Any,  # noqa: ANN401 - what is listed.
    path: str,
    query: Mapping[str, str],
) -> tuple[Any, dict[str, Any]]:
    """Return one page of a list, and the values about pages for its template."""
    number, pages, part = queries.page_of(found, query)
    turn = functools.partial(rendering.with_query, path, query)
    return part, {
        "found": len(found),
        "number": number,
        "pages": pages,
        "before": turn(page=str(number - 1)) if number > 1 else "",
        "after": turn(page=str(number + 1)) if number < pages else "",
    }
