"""The embedded API server answers as a real one, but where a difference is listed with its reason.

A difference that is not listed fails, and so does a listed one that is none any more.
"""

import http.client
import json
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from gang_scheduler.demo import cluster
from integration.support.server_requests import REQUESTS, Request
from support import yaml_texts
from tools import controlplane

LISTED: Final[dict[str, str]] = yaml_texts.read(
    (Path(__file__).parent / "support" / "embedded_differences.yaml").read_text()
)
POD_GROUPS: Final = (
    Path(__file__).parents[2] / "crds" / "podgroups.scheduling.sigs.k8s.io.yaml"
).read_text()
NAMESPACE: Final = "differential"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FORBIDDEN: Final = 403
FAILED: Final = 400
FAULT: Final = 500
TRIES: Final = 20


class Answer(NamedTuple):
    """What is compared of an answer."""

    status: int
    reason: str
    shown: dict[str, Any]


Send = Callable[[Request], tuple[int, Any]]


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: the loop is in a thread of its own."""
    return iter(())


def sender(url: str, tls: ssl.SSLContext | None = None, token: str | None = None) -> Send:
    """Return what sends a request to a server."""
    address = urllib.parse.urlsplit(url)
    place = (str(address.hostname), address.port)

    def send(request: Request) -> tuple[int, Any]:
        connection = (
            http.client.HTTPSConnection(*place, context=tls)
            if tls
            else http.client.HTTPConnection(*place)
        )
        headers = {"Content-Type": request.kind, "Accept": request.accept}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        body = request.body
        if body is not None and not isinstance(body, str):
            body = json.dumps(body).replace("{ns}", NAMESPACE)
        connection.request(request.method, request.path.replace("{ns}", NAMESPACE), body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        is_json = "json" in answer.headers.get_content_type()
        return answer.status, json.loads(content) if is_json else {}

    return send


def answers(send: Send) -> dict[str, Answer]:
    """Return what a server answers to all requests, by their names."""
    send(Request("", "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}))
    return {each.name: answer(send, each) for each in REQUESTS}


def answer(send: Send, request: Request) -> Answer:
    """Return what is compared of an answer."""
    status, body = send(request)
    for _ in range(TRIES):
        # The API server reads classes by a watch of its own, which may be behind the last request.
        if not (status == FORBIDDEN and "no PriorityClass" in body.get("message", "")):
            break
        time.sleep(0.1)
        status, body = send(request)
    if status >= FAILED:
        return Answer(status, body.get("reason", ""), {})
    return Answer(status, "", {path: at(body, path) for path in request.show})


def at(body: Any, path: str) -> Any:
    """Return what is at a path, None for nothing; what is empty counts as nothing."""
    for step in path.split("."):
        if isinstance(body, list):
            body = body[int(step)] if int(step) < len(body) else None
        else:
            body = body.get(step) if isinstance(body, dict) else None
    return body if body not in ({}, [], "") else None


@pytest.fixture(scope="module")
def embedded() -> dict[str, Answer]:
    """Return what the embedded server answers, without controllers as the real one of these."""
    with cluster.embedded(controllers=False) as found:
        found.request("POST", CRDS, yaml_texts.read(POD_GROUPS))
        return answers(sender(found.url))


@pytest.fixture(scope="module")
def real(plane: controlplane.ControlPlane) -> dict[str, Answer]:
    """Return what a real server answers."""
    return answers(sender(plane.url, plane.access.tls(), plane.token))


def test_every_request_has_a_name_of_its_own() -> None:
    assert len(REQUESTS) == len({each.name for each in REQUESTS})
    assert LISTED.keys() <= {each.name for each in REQUESTS}


def test_no_request_makes_the_server_fail(embedded: dict[str, Answer]) -> None:
    assert [] == [name for name, found in embedded.items() if found.status == FAULT]


@pytest.mark.e2e
@pytest.mark.parametrize("name", [each.name for each in REQUESTS])
def test_a_request(real: dict[str, Answer], embedded: dict[str, Answer], name: str) -> None:
    if name in LISTED:
        assert real[name] != embedded[name], f"no difference any more: {LISTED[name]}"
    else:
        assert real[name] == embedded[name]
