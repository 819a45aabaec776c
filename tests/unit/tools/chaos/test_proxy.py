"""What a proxy does to the events of a watch, and what the journal of writes says of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.chaos import proxy
from tools.chaos.proxy import GONE, ChaosProxy, WatchFault, WriteLog, Written
from tools.controlplane.access import Access

EVENT = b'{"type":"ADDED","object":{}}\n'
BOOKMARK = b'{"type":"BOOKMARK","object":{}}\n'
LATER = float("inf")


@pytest.fixture
def between(tmp_path: Path) -> Iterator[ChaosProxy]:
    with ChaosProxy("a", WriteLog(), Access("http://nowhere"), tmp_path / "kubeconfig") as made:
        yield made


def told(between: ChaosProxy, *parts: bytes, **fault: object) -> bytes:
    between.watch_fault = WatchFault(**fault)  # type: ignore[arg-type]
    return b"".join(between.passed_on(iter(parts)))


def test_without_a_fault_all_events_come_whole(between: ChaosProxy) -> None:
    assert EVENT + BOOKMARK == told(between, EVENT[:9], EVENT[9:] + BOOKMARK)


def test_events_come_twice_and_bookmarks_do_not_come(between: ChaosProxy) -> None:
    assert EVENT * 2 == told(between, EVENT, twice=1.0)
    assert EVENT * 2 == told(between, EVENT + BOOKMARK, EVENT, no_bookmarks=True)


def test_a_watch_that_was_there_ends_and_the_next_does_not(between: ChaosProxy) -> None:
    assert GONE == told(between, EVENT, EVENT, gone=True, since=LATER)
    assert EVENT.startswith(told(between, EVENT, EVENT, torn=True, since=LATER))
    assert EVENT * 2 == told(between, EVENT, EVENT, gone=True, since=0.0)


def test_requests_have_names() -> None:
    lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l"
    body = b'{"spec": {"holderIdentity": "me"}}'

    assert f"PUT {lease} me" == proxy.named("PUT", lease, body)
    assert proxy.is_of_lease(proxy.named("GET", lease, b""))
    assert not proxy.is_write(proxy.named("GET", "/api/v1/pods?watch=true", b""))
    assert not proxy.is_write(proxy.named("GET", "/api/v1/pods", b""))
    assert proxy.is_write(proxy.named("POST", "/api/v1/namespaces/n/pods/p/binding", b"{}"))


def lease(replica: str, at: float, holder: str) -> Written:
    return Written(replica, "PUT lease", at, at, holder)


def test_a_write_under_the_lease_of_another_is_foreign() -> None:
    log = WriteLog(
        [
            lease("a", 1.0, "one"),
            Written("a", "bind p", 2.0, 2.5),
            Written("b", "bind q", 3.0, 3.5),
            lease("b", 4.0, "two"),
            Written("b", "bind r", 5.0, 5.5),
        ]
    )

    assert [(3.0, "bind q by b, the Lease is that of a")] == log.foreign()


def test_nothing_is_foreign_once_a_lease_was_given_up() -> None:
    log = WriteLog([lease("a", 1.0, "one"), lease("a", 2.0, ""), Written("b", "bind", 3.0, 3.5)])

    assert [] == log.foreign()
