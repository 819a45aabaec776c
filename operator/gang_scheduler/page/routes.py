"""The addresses of the page: each answers with a screen, or with JSON."""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from aiohttp import web

from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection.cluster import Source
from gang_scheduler.inspection.explaining import document_fields
from gang_scheduler.inspection.listing import (
    domains,
    gangs,
    node_view,
    queues,
    states_and_orders,
)
from gang_scheduler.inspection.listing.gangs import Row
from gang_scheduler.inspection.listing.node_view import NodeView
from gang_scheduler.inspection.listing.states_and_orders import ORDERS
from gang_scheduler.model import similar_names
from gang_scheduler.model.refs import GangKey
from gang_scheduler.page import (
    bodies,
    job_form,
    node_map,
    queries,
    rendering,
    timeline,
    usage,
    view,
)
from gang_scheduler.page.access import Door
from gang_scheduler.page.bodies import HTML_TYPE, Bodies, Body
from gang_scheduler.page.node_map import NodeMap
from gang_scheduler.page.rights import WITHOUT_RIGHTS, Unanswered
from gang_scheduler.page.sources import Seen, Views
from gang_scheduler.page.streams import Streams
from gang_scheduler.page.view import PAGE_SIZE, View, Wanted
from gang_scheduler.page.viewers import WITHHELD, PartialViews
from gang_scheduler.simulation.objects import UnreadableInput
from gang_scheduler.simulation.snapshot_files import Told
from gang_scheduler.submit import verdict

FIRST: Final = 8
"""How many gangs and decisions the first screen has."""
FEW: Final = 40
"""How many domains and queues the first screen has."""
SEEN: Final = web.RequestKey("seen", View)
UNKEPT: Final = frozenset({"/try", "/search"})
"""Addresses whose answers are made for each request."""
Handler = Callable[[web.Request], Awaitable[Body]]
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Routes:
    """Answers requests from the views."""

    def __init__(self, views: Views, door: Door, title: str) -> None:
        self._views = views
        self._door = door
        self._title = title
        self._bodies = Bodies()
        self._partial = PartialViews()
        if door.has_tenants:
            views.note_each(self._partial.note)

    def table(self) -> list[web.RouteDef]:
        """Return all addresses."""
        found: dict[str, Handler] = {
            "/": self._overview,
            "/gangs": self._gangs,
            "/gangs/{namespace}/{name:.+}": self._gang,
            "/queues": self._queues,
            "/queues/{name}": self._queue,
            "/nodes": self._nodes,
            "/nodes/{name}": self._node,
            "/decisions": self._decisions,
            "/try": self._try,
            "/search": self._search,
            "/api/v1/overview": self._api(view.overview_document),
            "/api/v1/usage": self._api(_usage_document),
            "/api/v1/cluster": self._api(_cluster_document),
            "/api/v1/queues": self._api(lambda seen: _queue_document(seen, seen.queues)),
            "/api/v1/queues/{name}": self._api_queue,
            "/api/v1/gangs": self._api_gangs,
            "/api/v1/gangs/{namespace}/{name:.+}": self._api_gang,
            "/api/v1/timelines/{namespace}/{name:.+}": self._api_timeline,
            "/api/v1/nodes": self._api_nodes,
            "/api/v1/nodes/{name}": self._api_node,
            "/api/v1/decisions": self._api_decisions,
        }
        return [web.get(path, self._guarded(handler)) for path, handler in found.items()]

    def _guarded(self, handler: Handler) -> Answering:
        """Return the handler with its body kept, and its errors as screens or JSON documents."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            seen = await self._views.latest()
            try:
                key = await self._shown(request, seen)
                found = self._bodies.get(seen, key)
                if found is None:
                    found = await handler(request)
                    if request.path not in UNKEPT and self._views.last is seen:
                        self._bodies.keep(seen, key, found)
            except _Unread as error:
                return self._failed(request, 503, str(error))
            except _NotAllowed as error:
                return self._failed(request, 403, str(error))
            except _Missing as error:
                return self._failed(request, 404, str(error), error.told)
            except _Several as error:
                return bodies.answer(bodies.json_body({"error": str(error)}), request, 300)
            return bodies.answer(found, request)

        return guarded

    def _failed(
        self, request: web.Request, status: int, message: str, told: Sequence[Told] = ()
    ) -> web.Response:
        if request.path.startswith("/api/"):
            return bodies.answer(bodies.json_body({"error": message}), request, status)
        now = int(time.time())
        found = self._screen(
            request, None, "failed.html", message=message, problem="", told=told, now=now
        )
        return bodies.answer(found, request, status)

    async def _shown(self, request: web.Request, seen: Seen) -> Hashable:
        """Give a request what its user sees; return what tells its answers from those of others.

        Raises _Unread if there is no view, and _NotAllowed.
        """
        if seen.view is None:
            raise _Unread(seen.problem)
        try:
            viewer = await self._door.viewer(request, seen.view)
        except Unanswered as error:
            raise _Unread(f"the API server does not say what you may see: {error}") from None
        if viewer is None:
            raise _NotAllowed(WITHOUT_RIGHTS)
        whole = seen.view
        request[SEEN] = await self._views.ask(lambda: self._partial.of(whole, viewer))
        return self._door.user_name(request), viewer, request.path_qs

    def _seen(self, request: web.Request) -> tuple[View, str]:
        """Return what the user of a request sees, and why it is old."""
        return request[SEEN], self._views.last.problem

    def _screen(
        self,
        request: web.Request,
        seen: View | None,
        template: str,
        **given: Any,  # noqa: ANN401 - values for a template.
    ) -> Body:
        last = self._views.last
        text = rendering.render(
            template,
            title=self._title,
            seen=seen,
            path=request.path,
            api=_document_of(request) if seen is not None else "",
            events="" if self._views.still else "/events",
            version=last.version if seen is not None and last.view is seen.whole else "",
            user=self._door.user_name(request),
            **given,
        )
        return bodies.body(text, HTML_TYPE)

    # Screens.

    async def _overview(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        waiting = seen.waiting
        return self._screen(
            request,
            seen,
            "overview.html",
            problem=problem,
            waiting=waiting[:FIRST],
            more=max(0, len(waiting) - FIRST),
            told=view.told_of(seen, Wanted())[:FIRST],
            trees=[(tree, tree.lines[:FEW]) for tree in seen.trees],
            queues=seen.queues[:FEW],
            map=await self._views.ask(seen.node_map),
            usage=usage.picture(seen.known.uses),
        )

    async def _gangs(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        query = queries.fields_of(request)
        found = view.selected(seen, queries.wanted(query))
        number, pages, part = queries.page_of(found, query)
        turn = functools.partial(rendering.with_query, "/gangs", query)
        return self._screen(
            request,
            seen,
            "gangs.html",
            problem=problem,
            asked=query,
            rows=part,
            found=len(found),
            number=number,
            pages=pages,
            before=turn(page=str(number - 1)) if number > 1 else "",
            after=turn(page=str(number + 1)) if number < pages else "",
            choices={
                "state": list(states_and_orders.STATES),
                "queue": sorted({row.queue for row in seen.rows if row.queue}),
                "namespace": sorted({row.key.namespace for row in seen.rows}),
                "kind": sorted({row.kind for row in seen.rows}),
                "reason": sorted({row.wait.reason for row in seen.rows if row.wait.reason}),
                "sort": list(ORDERS),
            },
        )

    async def _gang(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        namespace, name = _named(request)
        found = await self._views.ask(lambda: seen.explained(name, namespace))
        if found.document is None and not found.several:
            raise _Missing(
                _no_gang(namespace, name, found.near), view.told_about(seen, namespace, name)
            )
        row = next((row for row in seen.rows if row.name == f"{namespace}/{name}"), None)
        line = await self._views.ask(lambda: seen.timeline(name, namespace))
        return self._screen(
            request,
            seen,
            "gang.html",
            timeline=line,
            picture=timeline.picture(line) if line is not None else None,
            problem=problem,
            name=f"{namespace}/{name}",
            found=found.document,
            several=[(each, *_several(each)) for each in found.several],
            row=row,
        )

    async def _queues(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        return self._screen(
            request, seen, "queues.html", problem=problem, queues=seen.queues, name="", rows=[]
        )

    async def _queue(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        name = request.match_info["name"]
        lines, rows = _of_queue(seen, name)
        return self._screen(
            request, seen, "queues.html", problem=problem, queues=lines, name=name, rows=rows
        )

    async def _nodes(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        query = queries.fields_of(request)
        found = await self._map(seen, query)
        if found is None:
            return self._screen(request, seen, "nodes.html", problem=problem, map=None)
        chosen = node_map.selected(found, queries.wanted_nodes(query))
        number, pages, part = queries.page_of(chosen, query)
        turn = functools.partial(rendering.with_query, "/nodes", query)
        domain = query.get("in", "")
        below = node_map.domains_below(found, domain)
        gang = next((key for key in found.gangs if str(key) == query.get("gang")), None)
        return self._screen(
            request,
            seen,
            "nodes.html",
            problem=problem,
            map=found,
            asked=query,
            states=node_map.SELECTED_BY,
            crumbs=list(_crumbs(domain, turn)),
            below=[(each.split("/")[-1], turn(**{"in": each, "page": ""})) for each in below[:FEW]],
            more_below=max(0, len(below) - FEW),
            gang_address=_gang_address(gang) if gang else "",
            without_gang=turn(gang="", page=""),
            map_address=rendering.with_query(
                "/api/v1/nodes", {each: query.get(each, "") for each in ("topology", "in")}
            ),
            lines=node_map.lines(found, part),
            found=len(chosen),
            number=number,
            pages=pages,
            before=turn(page=str(number - 1)) if number > 1 else "",
            after=turn(page=str(number + 1)) if number < pages else "",
        )

    async def _map(self, seen: View, query: Mapping[str, str]) -> NodeMap | None:
        """Return the map; None if it is not known. Raises _Missing for an unknown topology."""
        name = query.get("topology", "")
        found = await self._views.ask(lambda: seen.node_map(name))
        if found is None and seen.trees and seen.sees_nodes:
            raise _Missing(f"topology: {name}: no topology has this name")
        return found

    async def _node(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        shown = await self._views.ask(lambda: _node_of(seen, request))
        return self._screen(
            request,
            seen,
            "node.html",
            problem=problem,
            shown=shown,
            taints=[str(each) for each in shown.node.taints],
            known={row.key for row in seen.rows},
            requests=lambda pod: dict(pod.pod_class.requests),
        )

    async def _decisions(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        query = queries.fields_of(request)
        found = view.told_of(seen, queries.wanted(query))
        return self._screen(
            request,
            seen,
            "decisions.html",
            problem=problem,
            asked=query,
            told=found[: 4 * PAGE_SIZE],
            found=len(found),
            choices={
                "namespace": sorted({each.namespace for each in seen.told}),
                "reason": sorted({each.reason for each in seen.told}),
            },
        )

    async def _try(self, request: web.Request) -> Body:
        seen, problem = self._seen(request)
        form = job_form.form_of(request.query)
        given: dict[str, Any] = {"answer": None, "wrong": {}, "yaml": ""}
        if "nodes" in request.query:
            given |= await self._tried(seen, form)
        layers = [
            each.layer for tree in seen.trees for line in tree.lines for each in [line.domain]
        ]
        return self._screen(
            request,
            seen,
            "try.html",
            problem=problem,
            form=form,
            known_queues=[each.name for each in seen.queues],
            layers=list(dict.fromkeys(each for each in layers if each)),
            namespaces=seen.namespaces,
            can_try=seen.cluster.source is not Source.WRITTEN,
            **given,
        )

    async def _tried(self, seen: View, form: job_form.Form) -> dict[str, Any]:
        """Return the answer to a form, and the ways to create the job."""
        if form.namespace and not seen.shows(form.namespace):
            return {"wrong": {"namespace": "you may not list pods there"}}
        tried, wrong = job_form.tried(form, seen.cluster)
        if tried is None:
            return {"wrong": {name: _told_to(seen, said) for name, said in wrong.items()}}
        found: dict[str, Any] = {
            "yaml": tried.text,
            "command": job_form.as_command(tried.job),
            "python": job_form.as_python(tried.job),
        }
        if seen.cluster.source is Source.WRITTEN:
            return found
        try:
            cluster = await self._views.tried(tried.text)
            answer = await self._views.ask(lambda: verdict.explained(tried.plan, cluster))
        except UnreadableInput as error:
            return {**found, "wrong": {"": _told_to(seen, "; ".join(error.lines))}}
        except ApiError as error:
            return {**found, "wrong": {"": f"the cluster cannot be read: {error.message}"}}
        return {**found, "answer": seen.cleaned(answer).document}

    async def _search(self, request: web.Request) -> Body:
        """Redirect to the gang or queue of this name, or to the gangs that contain the text."""
        seen, _ = self._seen(request)
        text = queries.fields_of(request).get("q", "")
        raise web.HTTPFound(_found(seen, text))

    # Documents.

    def _api(self, document: Callable[[View], dict[str, Any]]) -> Handler:
        async def answer(request: web.Request) -> Body:
            seen, _problem = self._seen(request)
            return bodies.json_body(await self._views.ask(lambda: document(seen)))

        return answer

    async def _api_gangs(self, request: web.Request) -> Body:
        seen, _ = self._seen(request)
        found = view.selected(seen, queries.wanted(queries.fields_of(request)))
        return bodies.json_body(gangs.gang_document(found, seen.cluster))

    async def _api_gang(self, request: web.Request) -> Body:
        seen, _ = self._seen(request)
        namespace, name = _named(request)
        found = await self._views.ask(lambda: seen.explained(name, namespace))
        if found.several:
            raise _Several(f"{name} is the name of several: {', '.join(found.several)}")
        if found.document is None:
            raise _Missing(_no_gang(namespace, name, found.near))
        return bodies.json_body(document_fields.as_json(found.document))

    async def _api_timeline(self, request: web.Request) -> Body:
        seen, _ = self._seen(request)
        namespace, name = _named(request)
        found = await self._views.ask(lambda: seen.timeline(name, namespace))
        if found is None:
            raise _Missing(f"{namespace}/{name}: no gang whose times are known has this name")
        return bodies.json_body(timeline.document(found, seen.cluster))

    async def _api_queue(self, request: web.Request) -> Body:
        seen, _ = self._seen(request)
        lines, _rows = _of_queue(seen, request.match_info["name"])
        return bodies.json_body(_queue_document(seen, lines))

    async def _api_nodes(self, request: web.Request) -> Body:
        seen, _ = self._seen(request)
        query = queries.fields_of(request)
        found = await self._map(seen, query)
        if found is None:
            raise _Missing("nodes: not known with your rights")
        return await self._views.ask(lambda: _map_document(seen, found, query))

    async def _api_node(self, request: web.Request) -> Body:
        seen, _ = self._seen(request)
        shown = await self._views.ask(lambda: _node_of(seen, request))
        return bodies.json_body(node_view.document(shown, seen.cluster))

    async def _api_decisions(self, request: web.Request) -> Body:
        seen, _ = self._seen(request)
        found = view.told_of(seen, queries.wanted(queries.fields_of(request)))
        return bodies.json_body(view.decision_document(seen, found))


class _Unread(Exception):  # noqa: N818 - named after the problem.
    """The cluster was never read."""


class _NotAllowed(Exception):  # noqa: N818 - named after the problem.
    """The user may see nothing."""


class _Several(Exception):  # noqa: N818 - named after the problem.
    """There are several things of that name."""


class _Missing(Exception):  # noqa: N818 - named after the problem.
    """There is nothing of that name, but perhaps there was: `told` are decisions about it."""

    def __init__(self, message: str, told: Sequence[Told] = ()) -> None:
        super().__init__(message)
        self.told = told


def application(views: Views, door: Door, title: str) -> web.Application:
    """Return the page of a title: screens, documents, and static files."""
    made = web.Application(middlewares=[door.middleware()])
    streams = Streams(views, door)
    made.add_routes([*Routes(views, door, title).table(), *door.routes()])
    made.add_routes([web.get("/events", streams.answer)])
    made.add_routes(bodies.static_routes())

    async def end(_: web.Application) -> None:
        await streams.close()
        for each in reading:
            each.cancel()

    async def close(_: web.Application) -> None:
        await views.close()

    reading: list[asyncio.Task[None]] = []

    async def begin(_: web.Application) -> None:
        reading.append(asyncio.create_task(views.keep_reading()))

    made.on_startup.append(begin)
    made.on_shutdown.append(end)
    made.on_cleanup.append(close)
    return made


def _document_of(request: web.Request) -> str:
    """Return the address of a screen's JSON; "" if it has none."""
    if request.path == "/try":
        return ""
    return "/api/v1/overview" if request.path == "/" else f"/api/v1{request.rel_url}"


def _told_to(seen: View, text: str) -> str:
    """Return a text, without what the user may not see."""
    return text if seen.may_say(text) else f"this cannot be used. {WITHHELD}"


def _crumbs(domain: str, turn: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Yield a domain and those above it with their addresses; that of itself is ""."""
    names = domain.split("/") if domain else []
    for depth, text in enumerate(["cluster", *names]):
        shown = "outside of the tree" if text == node_map.OUTSIDE else text
        above = {"in": "/".join(names[:depth]), "page": ""}
        yield shown, "" if depth == len(names) else turn(**above)


def _named(request: web.Request) -> tuple[str, str]:
    return request.match_info["namespace"], request.match_info["name"]


def _several(found: str) -> tuple[str, str]:
    """Return namespace and name, with its kind, of a KIND/NAMESPACE/NAME."""
    kind, namespace, name = (*found.split("/", 2), "", "")[:3]
    return namespace, f"{kind}/{name}"


def _found(seen: View, text: str) -> str:
    """Return the address of the gang or queue of this name, or of the gangs with the text."""
    lower = text.lower()
    rows = [row for row in seen.rows if lower in (row.name.lower(), row.key.name.lower())]
    if len(rows) == 1:
        return _path(rows[0])
    if not rows and any(each.name.lower() == lower for each in seen.queues):
        name = next(each.name for each in seen.queues if each.name.lower() == lower)
        return rendering.queue_path(name)
    if not rows and seen.sees_nodes and lower in seen.cluster.cache.node_usage.table().rows:
        return rendering.node_path(lower)
    some = view.selected(seen, Wanted(text=text))
    if text and len(some) == 1:
        return _path(some[0])
    return rendering.with_query("/gangs", {"text": text})


def _path(row: Row) -> str:
    return _gang_address(row.key)


def _gang_address(key: GangKey) -> str:
    return rendering.gang_path(key.namespace, key.name, key.source)


def _no_gang(namespace: str, name: str, near: Sequence[str]) -> str:
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{namespace}/{name}: no PodGroup, workload, gang or pod has this name{meant}"


def _of_queue(seen: View, name: str) -> Any:  # noqa: ANN401 - lines and rows.
    lines, rows = view.of_queue(seen, name)
    if not lines:
        near = similar_names.close_to(name, {each.name for each in seen.queues}, most=3)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        raise _Missing(f"{name}: no queue has this name{meant}")
    return lines, rows


def _node_of(seen: View, request: web.Request) -> NodeView:
    """Return a node with its pods, of the shown namespace alone. Raises _Missing."""
    name = request.match_info["name"]
    if not seen.sees_nodes:
        raise _Missing("nodes: not known with your rights")
    shown = node_view.view(seen.cluster, name)
    if shown is None:
        names = seen.cluster.cache.node_usage.table().rows
        near = similar_names.close_to(name, names, most=3)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        raise _Missing(f"{name}: no node has this name{meant}")
    pods = (each for each in shown.pods if seen.shows(each.namespace))
    return replace(shown, pods=tuple(pods))


# Answers.


def _cluster_document(seen: View) -> dict[str, Any]:
    found = domains.document(seen.trees, seen.cluster)
    return found if seen.sees_nodes else {key: found[key] for key in found if key != "nodes"}


def _usage_document(seen: View) -> dict[str, Any]:
    # Of a file there is one point, that of its reading.
    points = seen.known.uses or ([] if seen.use is None else [seen.use])
    return usage.document(points, seen.cluster)


def _map_document(seen: View, found: NodeMap, query: Mapping[str, str]) -> Body:
    chosen = node_map.selected(found, queries.wanted_nodes(query))
    idle = seen.idle_while_waiting
    made = node_map.document(found, chosen, seen.cluster, idle, _gang_address)
    return bodies.json_body(made, indent=None)


def _queue_document(seen: View, lines: Sequence[queues.QueueLine]) -> dict[str, Any]:
    return queues.queue_document(lines, seen.cluster)
