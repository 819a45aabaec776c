"""The HTTP server: the paths of the Kubernetes API, and the formats of its answers."""

import asyncio
import base64
import binascii
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import anyio
import msgspec
import yaml
from aiohttp import web

from gang_scheduler.api.kinds import CRDS, GVR, NAMESPACES, PODS, PRIORITY_CLASSES
from gang_scheduler.client.errors import UNREADABLE, ApiError
from gang_scheduler.client.fake.cluster import Document, FakeCluster
from gang_scheduler.embedded import (
    changes,
    discovery,
    kinds,
    kubectl_tables,
    patches,
    pods,
    selection,
)
from gang_scheduler.embedded.changes import Changes
from gang_scheduler.embedded.controllers import Controllers
from gang_scheduler.embedded.kinds import Kinds, Place, Served
from gang_scheduler.embedded.objects import Deletion, Objects, Options, Written
from gang_scheduler.embedded.refusals import Refused, of_fake
from gang_scheduler.embedded.selection import Selection

HOST: Final = "127.0.0.1"
FIRST_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
HEALTH: Final = frozenset({("healthz",), ("readyz",), ("livez",)})
WATCH_SECONDS: Final = (1800, 3600)
"""The duration of a watch that sets no timeout."""
MOST_BYTES: Final = 3 * 2**20
YES: Final = frozenset({"1", "true", "True", "t", "T"})
PARTS: Final = frozenset({"", "status"})
Answer = web.StreamResponse


class Server:
    """The HTTP server: an async context manager, which serves for as long as it is entered.

    Without `controllers` there is only the API server: Jobs get no pods, and no pod runs.
    """

    def __init__(self, *, controllers: bool = True, port: int = 0) -> None:
        # A version from an earlier server on the same port is older than all versions here.
        self.cluster = FakeCluster((), first_version=int(time.time()))
        self.changes = Changes(self.cluster)
        self.kinds = Kinds(self.cluster)
        self.kinds.withdrawn.append(self.changes.end)
        self.objects = Objects(self.cluster, self.kinds)
        self._controllers = Controllers(self.objects) if controllers else None
        self._port = port
        self._watches: set[asyncio.Task[Any] | None] = set()
        application = web.Application(client_max_size=MOST_BYTES)
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
        self._begin()

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        if self._controllers:
            self._controllers.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._controllers:
            await self._controllers.stop()
        for each in list(self._watches):
            if each:
                each.cancel()
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://{HOST}:{self._port}"

    @property
    def problems(self) -> list[str]:
        """The latest errors of the controllers."""
        return list(self._controllers.problems) if self._controllers else []

    def _begin(self) -> None:
        """Create the objects that each API server has."""
        for name in FIRST_NAMESPACES:
            self._create(NAMESPACES, {"metadata": {"name": name}})
        for name, value in pods.SYSTEM.items():
            self._create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})

    def install(self, crd: Document) -> None:
        """Serve the kind of a CRD."""
        self._create(CRDS, crd)

    def _create(self, gvr: GVR, body: Document) -> None:
        served = self.kinds.find(*gvr)
        assert served is not None  # noqa: S101 - it is in the table.
        kind = {"apiVersion": gvr.api_version, "kind": served.kind}
        self.objects.create(served, "", {**kind, **body}, Options())

    async def _answer(self, request: web.Request) -> Answer:
        try:
            return await self._answered(request)
        except Refused as error:
            refused = error
        except ApiError as error:
            refused = of_fake(error)
        headers = {"Retry-After": str(refused.retry_after)} if refused.retry_after else {}
        return _json(refused.body, refused.status, headers)

    async def _answered(self, request: web.Request) -> Answer:
        if "Origin" in request.headers:
            raise Refused(403, "a page in a browser has no business here")
        path = _words(request.path)
        if path in HEALTH:
            return web.Response(text="ok")
        if request.method == "GET" and (document := discovery.found(self.kinds, path)) is not None:
            return _json(document)
        place = self._place(path)
        if place is None and not self._is_of_group(path):
            return web.Response(status=404, text="404 page not found")
        if place is None:
            raise Refused(404, "the server could not find the requested resource")
        if place.part not in PARTS and place.served.gvr == PODS and place.name:
            return await self._of_pod(request, place)
        if place.part not in PARTS or (place.part and not place.served.has_status):
            raise Refused(404, "the server could not find the requested resource")
        verb = f"_{request.method.lower()}"
        verb += "_one" if place.name else "_all"
        answer = getattr(self, verb, None)
        if answer is None:
            text = "the server does not allow this method on the requested resource"
            raise Refused(405, text)
        found: Answer = await answer(request, place)
        return found

    def _is_of_group(self, path: tuple[str, ...]) -> bool:
        """Return whether a path begins with a group and version that is served."""
        if path[:1] == ("apis",):
            return len(path) > 2 and path[2] in self.kinds.groups().get(path[1], ())
        return path[:2] == ("api", "v1")

    def _place(self, path: tuple[str, ...]) -> Place | None:
        """Return the kind or object that a path names; None if the kind is not served."""
        if path[:2] == ("api", "v1"):
            group, version, rest = "", "v1", path[2:]
        elif path[:1] == ("apis",) and len(path) > 3:
            group, version, rest = path[1], path[2], path[3:]
        else:
            return None
        namespace = ""
        # .../namespaces/NAME and .../namespaces/NAME/status are about the namespace itself.
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
        if not rest or len(rest) > 3:
            return None
        served = self.kinds.find(group, version, rest[0])
        if served is None or (namespace and not served.namespaced):
            return None
        name, part = (*rest[1:], "", "")[:2]
        if served.namespaced and name and not namespace:
            return None
        return Place(served, namespace, name, part)

    async def _get_one(self, request: web.Request, place: Place) -> Answer:
        served = place.served
        found = kinds.shown(served, self.objects.get(served, place.namespace, place.name))
        return _json(_form(request).of_object(served, found))

    async def _get_all(self, request: web.Request, place: Place) -> Answer:
        asked = selection.read(place.served, place.namespace, request.query)
        if request.query.get("watch") in YES:
            return await self._watch(request, place, asked)
        return _json(self._listed(request, place, asked))

    def _listed(self, request: web.Request, place: Place, asked: Selection) -> Document:
        served, query = place.served, request.query
        documents = self.cluster.documents(served.key)
        # As in etcd, keys sort by namespace first.
        names = sorted(documents)
        after, limit = _continued(query.get("continue", "")), _number(query, "limit", 0)
        chosen: list[Document] = []
        following, left = "", 0
        for key in names:
            if after and key <= after:
                continue
            document = documents[key]
            if not asked.has(document):
                continue
            if limit and len(chosen) == limit:
                following, left = _following(chosen[-1]), left + 1
                if not asked.is_all:
                    break
                continue
            chosen.append(document)
        metadata: Document = {"resourceVersion": str(self.cluster.version)}
        if following:
            metadata["continue"] = following
            if asked.is_all:
                metadata["remainingItemCount"] = left
        shown = [kinds.shown(served, each) for each in chosen]
        return _form(request).of_list(served, shown, metadata)

    async def _watch(self, request: web.Request, place: Place, asked: Selection) -> Answer:
        query, served, form = request.query, place.served, _form(request)
        version = _number(query, "resourceVersion", 0)
        if version > self.cluster.version:
            raise Refused(410, f"too large resource version: {version}")

        def show(document: Document) -> Document:
            whole = {"apiVersion": served.gvr.api_version, "kind": served.kind, **document}
            return form.of_object(served, kinds.shown(served, whole))

        sent = changes.Form(f"{served.gvr.api_version} {form.name}", show)
        initial = query.get("sendInitialEvents") in YES
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        lasts = _number(query, "timeoutSeconds", 0) or random.randint(*WATCH_SECONDS)  # noqa: S311
        bookmarks = query.get("allowWatchBookmarks") in YES
        # A watch without a version begins with all present objects.
        if initial or (not version and query.get("sendInitialEvents") is None):
            version = self.cluster.version
            found = list(self.cluster.documents(served.key).values())
            lines = [changes.added(show(each)) for each in found if asked.has(each)]
            if initial:
                lines.append(self.changes.bookmark(sent, **{changes.INITIAL_END: "true"}))
            if lines:
                await response.write(b"".join(lines))
        task = asyncio.current_task()
        self._watches.add(task)
        try:
            with anyio.move_on_after(lasts):
                watched = self.changes.watch(served.key, asked, sent, version, bookmarks=bookmarks)
                async for changed in watched:
                    await response.write(changed)
            await response.write_eof()
        except ConnectionError:
            # The client has closed the connection.
            pass
        finally:
            self._watches.discard(task)
        return response

    async def _post_all(self, request: web.Request, place: Place) -> Answer:
        if place.served.namespaced and not place.namespace:
            text = "the server does not allow this method on the requested resource"
            raise Refused(405, text)
        body = await _object(request)
        made = self.objects.create(place.served, place.namespace, body, _options(request))
        return _written(request, place, made)

    async def _put_one(self, request: web.Request, place: Place) -> Answer:
        body = await _object(request)
        body["metadata"] = dict(body.get("metadata") or {})
        if place.namespace:
            body["metadata"].setdefault("namespace", place.namespace)
        written = self.objects.replace(place, body, _options(request))
        return _written(request, place, written)

    async def _patch_one(self, request: web.Request, place: Place) -> Answer:
        patch, kind = _decoded(await request.read()), request.content_type

        def change(document: Document) -> Document:
            return patches.patched(document, kind, patch, is_custom=place.served.is_custom)

        written = self.objects.patch(place, change, _options(request))
        return _written(request, place, written)

    async def _delete_one(self, request: web.Request, place: Place) -> Answer:
        if place.part:
            raise Refused(405, "the server does not allow this method on the requested resource")
        asked = await _deletion(request)
        served = place.served
        gone = self.objects.delete(served, place.namespace, place.name, asked)
        if served.gvr == PODS or "deletionTimestamp" in gone["metadata"]:
            return _json(kinds.shown(served, gone))
        details = {"name": place.name, "kind": served.gvr.plural, "uid": gone["metadata"]["uid"]}
        details |= {"group": served.gvr.group} if served.gvr.group else {}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return _json({**status, "details": details})

    async def _delete_all(self, request: web.Request, place: Place) -> Answer:
        asked = await _deletion(request)
        served = place.served
        chosen = selection.read(served, place.namespace, request.query)
        found = [e for e in self.cluster.documents(served.key).values() if chosen.has(e)]
        for each in found:
            metadata = each["metadata"]
            self.objects.delete(served, metadata.get("namespace", ""), metadata["name"], asked)
        metadata = {"resourceVersion": str(self.cluster.version)}
        return _json(WHOLE.of_list(served, [kinds.shown(served, e) for e in found], metadata))

    async def _of_pod(self, request: web.Request, place: Place) -> Answer:
        """Answer a request for a subresource that only pods have."""
        if place.part not in discovery.OF_PODS:
            raise Refused(404, "the server could not find the requested resource")
        if request.method != "POST":
            raise Refused(405, "the server does not allow this method on the requested resource")
        body, dry_run = await _object(request), _options(request).dry_run
        wanted = dict(zip(("apiVersion", "kind"), discovery.OF_PODS[place.part], strict=True))
        if {key: body.get(key, value) for key, value in wanted.items()} != wanted:
            raise Refused(400, f"the body is no {wanted['kind']} of {wanted['apiVersion']}")
        in_body = (body.get("metadata") or {}).get("name", "")
        if in_body != place.name:
            text = f"the name of the object ({in_body}) does not match the name on the URL "
            raise Refused(400, f"{text}({place.name})")
        if place.part == "binding":
            options = Options(dry_run=dry_run)
            self.objects.bind(place.namespace, body, place.name, options)
        else:
            asked = _deletion_of(body.get("deleteOptions") or {}, dry_run=dry_run)
            self.objects.evict(place.namespace, place.name, asked)
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return _json({**success, "code": 201}, 201)


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which a client requests objects, such as a Table."""

    name: str
    of_object: Callable[[Served, Document], Document]
    of_list: Callable[[Served, list[Document], Document], Document]


def _list(served: Served, documents: list[Document], metadata: Document) -> Document:
    return {
        "kind": served.list_name,
        "apiVersion": served.gvr.api_version,
        "metadata": metadata,
        "items": documents,
    }


def _partial_list(_: Served, documents: list[Document], metadata: Document) -> Document:
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": kubectl_tables.META,
        "metadata": metadata,
        "items": [kubectl_tables.partial(each) for each in documents],
    }


WHOLE: Final = Form("", lambda _, each: each, _list)
PARTIAL: Final = Form("partial", lambda _, each: kubectl_tables.partial(each), _partial_list)
TABLE: Final = Form(
    "table",
    lambda served, each: kubectl_tables.table(
        served,
        [each] if "name" in each["metadata"] else [],
        {"resourceVersion": each["metadata"].get("resourceVersion", "")},
    ),
    kubectl_tables.table,
)


def _form(request: web.Request) -> Form:
    """Return the form that a client prefers. Raises Refused if no known form is accepted."""
    for accepted in request.headers.get("Accept", "*/*").split(","):
        kind, *parameters = (each.strip() for each in accepted.split(";"))
        if kind not in ("application/json", "application/*", "*/*"):
            continue
        wanted = dict(each.partition("=")[::2] for each in parameters)
        form = wanted.get("as", "")
        if form == "Table":
            return TABLE
        if form.startswith("PartialObjectMetadata"):
            return PARTIAL
        if not form:
            return WHOLE
    raise Refused(406, "only the following media types are accepted: application/json")


def _json(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    content = msgspec.json.encode(body)
    return web.Response(
        body=content, status=status, content_type="application/json", headers=headers
    )


def _written(request: web.Request, place: Place, written: Written) -> Answer:
    served = place.served
    shown = _form(request).of_object(served, kinds.shown(served, written.document))
    answer = _json(shown, 201 if written.is_new else 200)
    if request.query.get("fieldValidation", "Warn") != "Ignore":
        for each in written.unknown:
            answer.headers.add("Warning", f'299 - "unknown field \\"{each}\\""')
    return answer


def _words(path: str) -> tuple[str, ...]:
    return tuple(filter(None, path.split("/")))


async def _object(request: web.Request) -> Document:
    """Return the object that was sent. Raises Refused."""
    content = await request.read()
    if request.content_type in ("application/yaml", "application/x-yaml"):
        try:
            body = yaml.safe_load(content)
        except yaml.YAMLError as error:
            raise Refused(400, f"the body is no YAML: {error}") from error
    elif request.content_type in ("application/json", "application/octet-stream", "text/plain"):
        body = _decoded(content)
    else:
        raise Refused(415, "accepted media types include: application/json, application/yaml")
    if not isinstance(body, dict):
        raise Refused(400, "the body is no object")
    return body


def _decoded(content: bytes) -> Any:  # noqa: ANN401 - any JSON.
    try:
        return msgspec.json.decode(content)
    except UNREADABLE as error:
        raise Refused(400, f"the body is no JSON: {error}") from error


def _options(request: web.Request) -> Options:
    wanted = request.query.get("fieldValidation", "")
    if wanted not in ("", "Strict", "Warn", "Ignore"):
        raise Refused(422, f"fieldValidation: Unsupported value: {wanted!r}")
    return Options(_is_dry(request.query.getall("dryRun", [])), wanted)


def _is_dry(given: Iterable[str]) -> bool:
    found = [each for each in given if each]
    if found and found != ["All"]:
        raise Refused(422, f"dryRun: Unsupported value: {found}: supported values: 'All'")
    return bool(found)


async def _deletion(request: web.Request) -> Deletion:
    """Return the options of a DELETE request, from its body or its query."""
    content = await request.read()
    body = _decoded(content) if content else {}
    if not isinstance(body, Mapping):
        raise Refused(400, "the body is no object")
    query = request.query
    given = dict(body)
    if "gracePeriodSeconds" in query:
        given["gracePeriodSeconds"] = _number(query, "gracePeriodSeconds", 0)
    if "propagationPolicy" in query:
        given["propagationPolicy"] = query["propagationPolicy"]
    dry = _is_dry([*query.getall("dryRun", []), *(body.get("dryRun") or [])])
    return _deletion_of(given, dry_run=dry)


def _deletion_of(options: Mapping[str, Any], *, dry_run: bool) -> Deletion:
    conditions = options.get("preconditions") or {}
    return Deletion(
        dry_run=dry_run or _is_dry(options.get("dryRun") or []),
        grace_seconds=options.get("gracePeriodSeconds"),
        propagation=options.get("propagationPolicy") or "",
        uid=conditions.get("uid") or "",
        version=conditions.get("resourceVersion") or "",
    )


def _number(query: Mapping[str, str], name: str, otherwise: int) -> int:
    text = query.get(name, "")
    if text and not (text.isascii() and text.isdigit()):
        raise Refused(400, f'{name}: Invalid value: "{text}": is no number')
    return int(text) if text else otherwise


def _following(document: Document) -> str:
    """Return the token with which a client continues a list after an object."""
    metadata = document["metadata"]
    key = msgspec.json.encode([metadata.get("namespace", ""), metadata["name"]])
    return base64.urlsafe_b64encode(key).decode()


def _continued(token: str) -> tuple[str, str] | None:
    if not token:
        return None
    try:
        namespace, name = msgspec.json.decode(base64.urlsafe_b64decode(token), type=list[str])
    except (*UNREADABLE, ValueError, binascii.Error) as error:
        raise Refused(400, "continue key is not valid") from error
    return namespace, name
