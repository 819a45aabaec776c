"""Checkpoints in S3, with a server that is slow or out of order, and writers that are killed.

Each writer that is killed is a process of its own, which gets SIGKILL before or after the server
has done one of its requests.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler import checkpoint_files
from gang_scheduler.checkpoint_store import Store
from support import s3
from support.thoroughness import some

NUMBERS = count()
REQUESTS_OF_A_SAVE = range(10)
"""Of two files. Its process may end before that, when the save is done."""

WRITER = """
import sys
from gang_scheduler.checkpoint_store import Store

store = Store(sys.argv[1], environ={}, options=eval(sys.argv[2]))

def write(directory):
    for each in "ab":
        (directory / each).write_text(each * 1000)

for step in sys.argv[3].split(","):
    print(store.save(int(step), write).path, flush=True)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3.server() as url:
        yield url


@pytest.fixture(scope="module")
def proxy(server: str) -> Iterator[s3.Proxy]:
    with s3.Proxy(server) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch, proxy: s3.Proxy) -> Iterator[None]:
    for name, value in s3.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(checkpoint_files, "PAUSES_SECONDS", (0.01,) * 4)
    yield
    proxy.begin()


@pytest.fixture
def bucket(server: str) -> str:
    """Return the URL of a store in an empty bucket."""
    name = f"bucket-{next(NUMBERS)}"
    s3.make_bucket(server, name)
    return f"s3://{name}/team/llama"


def options(url: str) -> dict[str, Any]:
    """Return the options of a file system that does not try again by itself."""
    once = {"retries": {"total_max_attempts": 1}, "read_timeout": 60}
    return {"endpoint_url": url, "config_kwargs": once}


def at(bucket: str, url: str, **more: Any) -> Store:
    return Store(bucket, environ={}, options=options(url), **more)


def two_files(directory: Path) -> None:
    for each in "ab":
        (directory / each).write_text(each * 1000)


def is_whole(store: Store, which: Any) -> bool:
    with store.load(which) as directory:
        return [each * 1000 for each in "ab"] == [(directory / e).read_text() for e in "ab"]


def start(bucket: str, url: str, steps: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, bucket, repr(options(url)), steps],
        env={**os.environ, **s3.CREDENTIALS},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_was_saved_is_found_kept_and_pruned(bucket: str, server: str) -> None:
    store = at(bucket, server)
    for step in (1, 2, 3):
        saved = store.save(step, two_files, metadata={"loss": 1.0 / step})

    again = at(bucket, server)
    assert saved == again.latest()
    assert saved.path.startswith(f"{bucket}/step-000000000003-")
    assert is_whole(again, saved.path)
    assert 2 == len(again.keep(last=1))
    assert [3] == [each.step for each in store.list()]
    assert [] == again.prune(0)


def test_another_prefix_that_begins_the_same_is_another_store(bucket: str, server: str) -> None:
    at(f"{bucket}-2", server).save(1, two_files)

    assert at(bucket, server).latest() is None


def test_a_large_file_is_sent_in_parts(bucket: str, server: str) -> None:
    content = os.urandom(1 << 20) * 60
    store = at(bucket, server)

    saved = store.save(1, lambda directory: (directory / "a").write_bytes(content))

    assert len(content) == saved.size
    with store.load(saved) as directory:
        assert content == (directory / "a").read_bytes()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", some(REQUESTS_OF_A_SAVE))
def test_a_writer_that_is_killed_leaves_what_was_there_or_what_is_whole(
    bucket: str, server: str, proxy: s3.Proxy, number: int, when: str
) -> None:
    store = at(bucket, server)
    store.save(1, two_files)
    started = threading.Event()
    processes: list[subprocess.Popen[str]] = []

    def kill() -> None:
        started.wait()
        processes[0].kill()
        processes[0].wait()

    def fault(request: s3.Request) -> None:
        if request.number == number:
            if when == "before":
                kill()
                # The request was on its way to the server, or it was not.
                request.status = 503
            else:
                request.after = kill

    proxy.begin(fault)
    processes.append(start(bucket, proxy.url, "2"))
    started.set()
    said, errors = processes[0].communicate()

    assert (-9 if len(proxy.requests) > number else 0) == processes[0].returncode, errors
    found = store.latest()
    assert found is not None
    assert found.step == 2 or not said
    assert is_whole(store, found)
    store.prune(0)
    assert found == store.latest()
    assert is_whole(store, found)
    left = set(store._files.find(""))
    assert {each.partition("/")[0] for each in left} == {
        "published",
        *(each.name for each in store.list()),
    }


@pytest.mark.parametrize("number", REQUESTS_OF_A_SAVE)
def test_a_server_that_is_busy_now_and_then_is_asked_again(
    bucket: str, proxy: s3.Proxy, number: int
) -> None:
    """One request is refused, and the answer to the next is lost, so that it is done twice."""
    store = at(bucket, proxy.url)

    def fault(request: s3.Request) -> None:
        request.status = 503 if request.number == number else 0
        request.cut = request.number == number + 1

    proxy.begin(fault)
    saved = store.save(1, two_files)
    proxy.begin()

    assert saved == store.latest()
    assert is_whole(store, saved)


def test_a_server_that_stays_out_of_order_is_an_error_and_the_checkpoint_before_stays(
    bucket: str, proxy: s3.Proxy
) -> None:
    store = at(bucket, proxy.url)
    saved = store.save(1, two_files)

    def fault(request: s3.Request) -> None:
        request.status = 503 if request.method == "PUT" else 0

    proxy.begin(fault)
    with pytest.raises(OSError):  # noqa: PT011 - each version of s3fs has other words.
        store.save(2, two_files)
    proxy.begin()

    assert saved == store.latest()


def test_a_slow_server_only_takes_longer(bucket: str, proxy: s3.Proxy) -> None:
    store = at(bucket, proxy.url)
    proxy.begin(lambda _: time.sleep(0.2))

    saved = store.save(1, two_files)

    assert is_whole(store, saved)


def test_a_writer_that_is_held_up_and_pruned_publishes_nothing(
    bucket: str, server: str, proxy: s3.Proxy
) -> None:
    """It comes back when another process took its files for litter, just before it publishes."""
    others = at(bucket, server)
    saved = others.save(1, two_files)

    def fault(request: s3.Request) -> None:
        if request.method == "PUT" and "/published/" in request.path:
            assert others.prune(0)

    proxy.begin(fault)
    with pytest.raises(Exception, match="pruned"):
        at(bucket, proxy.url).save(2, two_files)

    assert saved == others.latest()


@pytest.mark.parametrize("clocks", [(0.0, 4e9), (4e9, 0.0)])
def test_the_clocks_of_writers_decide_nothing(
    bucket: str, server: str, clocks: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = at(bucket, server, clock=lambda: clocks[0])
    second = at(bucket, server, clock=lambda: clocks[1])
    first.save(1, two_files)
    saved = second.save(2, two_files)

    assert saved == first.latest()
    # Litter is as old as the server says.
    store = at(bucket, server)
    store._files.write("step-000000000003-0000000000000000/a", b"a", "aside")
    monkeypatch.setattr(time, "time", lambda: 4e9)
    assert [] == store.prune(3600)
    assert [f"{bucket}/step-000000000003-0000000000000000"] == store.prune(0)


def test_two_writers_at_once_lose_nothing(bucket: str, server: str) -> None:
    processes = [start(bucket, server, steps) for steps in ("1,3,5,7,9", "2,4,6,8,10")]
    with ThreadPoolExecutor(2) as pool:
        ended: list[tuple[str, str]] = list(pool.map(lambda each: each.communicate(), processes))

    assert ["", ""] == [errors for _, errors in ended]
    store = at(bucket, server)
    found = store.list()
    assert sorted(path for said, _ in ended for path in said.split()) == sorted(
        each.path for each in found
    )
    assert set(range(1, 11)) == {each.step for each in found}
    assert all(is_whole(store, each) for each in found)
    # Each writer sees its own in the order in which it saved them.
    for parity in (0, 1):
        own = [each.step for each in found if each.step % 2 == parity]
        assert sorted(own) == own
    assert found[-1] == store.latest()


def test_a_bucket_that_is_not_there_is_an_error(server: str) -> None:
    with pytest.raises(FileNotFoundError):
        at("s3://no-such-bucket/llama", server).save(1, two_files)
