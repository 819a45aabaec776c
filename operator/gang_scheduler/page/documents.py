"""What `/api/v1` answers: the data of each screen as JSON, as the commands print it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gang_scheduler.inspection.explaining import document_fields
from gang_scheduler.inspection.listing import domains, gangs, node_view, queues
from gang_scheduler.page import bodies, gpu_history, lookups, node_map, queries, timeline, view
from gang_scheduler.page.answering import Asked, Handler, Several
from gang_scheduler.page.bodies import Body
from gang_scheduler.page.lookups import Missing
from gang_scheduler.page.view import View


def handlers() -> Mapping[str, Handler]:
    """Return the handlers of all addresses."""
    return {
        "/api/v1/overview": _of_view(view.overview_document),
        "/api/v1/usage": _of_view(_usage),
        "/api/v1/cluster": _of_view(_cluster),
        "/api/v1/queues": _of_view(lambda seen: _queue_document(seen, seen.queues)),
        "/api/v1/queues/{name}": _queue,
        "/api/v1/gangs": _gangs,
        "/api/v1/gangs/{namespace}/{name:.+}": _gang,
        "/api/v1/timelines/{namespace}/{name:.+}": _timeline,
        "/api/v1/nodes": _nodes,
        "/api/v1/nodes/{name}": _node,
        "/api/v1/decisions": _decisions,
    }


def _of_view(document: Callable[[View], Mapping[str, Any]]) -> Handler:
    return lambda asked: bodies.json_body(document(asked.seen))


def _usage(seen: View) -> dict[str, Any]:
    # A file has one point, the time at which it was read.
    points = seen.known.uses or ([] if seen.use is None else [seen.use])
    return gpu_history.document(points, seen.cluster)


def _cluster(seen: View) -> dict[str, Any]:
    found = domains.document(seen.trees, seen.cluster)
    return found if seen.sees_nodes else {key: found[key] for key in found if key != "nodes"}


def _queue_document(seen: View, lines: Sequence[queues.QueueLine]) -> dict[str, Any]:
    return queues.queue_document(lines, seen.cluster)


def _queue(asked: Asked) -> Body:
    lines, _rows = lookups.queue(asked.seen, asked.name)
    return bodies.json_body(_queue_document(asked.seen, lines))


def _gangs(asked: Asked) -> Body:
    found = view.selected(asked.seen, queries.wanted(queries.fields_of(asked.query)))
    return bodies.json_body(gangs.gang_document(found, asked.seen.cluster))


def _gang(asked: Asked) -> Body:
    found = lookups.gang(asked.seen, asked.named["namespace"], asked.name)
    if found.document is None:
        raise Several(f"several gangs are named {asked.name}: {', '.join(found.several)}")
    return bodies.json_body(document_fields.as_json(found.document))


def _timeline(asked: Asked) -> Body:
    namespace, name = asked.named["namespace"], asked.name
    found = asked.seen.timeline(name, namespace)
    if found is None:
        raise Missing(f"{namespace}/{name}: no gang whose times are known has this name")
    return bodies.json_body(timeline.document(found, asked.seen.cluster))


def _nodes(asked: Asked) -> Body:
    seen, query = asked.seen, queries.fields_of(asked.query)
    found = lookups.nodes(seen, query)
    if found is None:
        raise Missing("nodes: not known with your rights")
    chosen = node_map.selected(found, queries.wanted_nodes(query))
    idle = seen.idle_while_waiting
    made = node_map.document(found, chosen, seen.cluster, idle, lookups.gang_address)
    return bodies.json_body(made, indent=None)


def _node(asked: Asked) -> Body:
    return bodies.json_body(
        node_view.document(lookups.node(asked.seen, asked.name), asked.seen.cluster)
    )


def _decisions(asked: Asked) -> Body:
    found = view.events_of(asked.seen, queries.wanted(queries.fields_of(asked.query)))
    return bodies.json_body(view.decision_document(asked.seen, found))
