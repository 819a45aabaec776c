"""One contestant on a fresh control plane."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools import controlplane
from tools.bench import final_state, population
from tools.bench.contestants import OURS, Contestant, in_words_of
from tools.bench.results import Result, thinned
from tools.bench.shape import Shape
from tools.controlplane import ControlPlane, Options, audit

CRDS: Final = Path(__file__).parents[3] / "crds"
POLL_SECONDS: Final = 0.1
CALM_SECONDS: Final = 0.5
CALM_SHARE: Final = 0.1
MOST_CALM_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 600.0
BINDING_MARK: Final = b'"subresource":"binding"'
REQUESTS: Final = re.compile(
    r"^apiserver_request_total\{(?P<labels>[^}]*)\} (?P<number>\S+)$", re.M
)
NOT_COUNTED: Final = ('verb="WATCH"', 'verb="LIST"', 'verb="CONNECT"', 'resource="leases"')


def run(name: str, contestant: Contestant, shape: Shape, say: Callable[[str], None]) -> Result:
    """Return the figures of one contestant."""
    options = Options(
        kwok=shape.kwok,
        controller_manager=shape.claims,
        audit=True,
        native_gangs=contestant.native_gangs or shape.rule == "rack",
        api_priority_and_fairness=False,
    )
    with controlplane.start(options) as plane:
        say(f"{name}: {shape}")
        plane.kubectl("apply", "-f", str(CRDS))
        population.create_nodes(plane, shape)
        population.create_devices(plane, shape)
        population.create_queues(plane, shape)
        return _measured(plane, name, contestant, shape)


def _measured(plane: ControlPlane, name: str, contestant: Contestant, shape: Shape) -> Result:
    dialect = in_words_of(contestant, shape)
    created = 0
    if not shape.rate:
        created = population.create_gangs(plane, shape, dialect, contestant.scheduler)
        population.wait_for_claims(plane, shape)
    _wait_until_calm(plane)
    offset, requests = audit.end(plane.audit_log), _requests(plane)
    servers, started = _cpu_of_servers(plane), time.time()
    process = contestant.start(plane, shape)
    created_live = 0
    if shape.rate:
        created_live = population.create_gangs(plane, shape, dialect, contestant.scheduler)
    use = _wait_until_bound(plane, process, shape, offset)
    used = [after - before for after, before in zip(_cpu_of_servers(plane), servers, strict=True)]
    ours = contestant.scheduler == OURS
    gangs = created + created_live > shape.pods
    wrong = final_state.problems(plane, shape, gangs=gangs, statuses=ours and shape.rule != "rack")
    time.sleep(final_state.SETTLE_SECONDS)
    more = _requests(plane) - requests - created_live
    figures = audit.figures(plane.audit_log, offset)
    waits = audit.gang_waits(plane.audit_log, offset, lambda pod: pod.rpartition("-")[0])
    return Result(
        contestant=name,
        shape=shape,
        bound=figures.bindings,
        pods_per_second=round(figures.bindings_per_second, 1),
        seconds_to_last=round(figures.last_at - started, 2),
        p50=round(1000 * audit.percentile(waits, 50)) if shape.rate else None,
        p99=round(1000 * audit.percentile(waits, 99)) if shape.rate else None,
        scheduler_cpu_ms=round(1000 * use.cpu_seconds / shape.pods, 2),
        api_server_cpu_ms=round(1000 * used[0] / shape.pods, 2),
        etcd_cpu_ms=round(1000 * used[1] / shape.pods, 2),
        peak_megabytes=round(use.peak_bytes / 1e6, 1),
        requests_a_pod=None if shape.kwok else round(more / shape.pods, 2),
        problems=tuple(wrong),
        curve=thinned(figures.bound_at, started),
    )


def _cpu_of_servers(plane: ControlPlane) -> tuple[float, float]:
    """Return the CPU seconds of the API server and of etcd so far."""
    return plane.cpu_seconds("kube-apiserver"), plane.cpu_seconds("etcd")


def _wait_until_calm(plane: ControlPlane) -> None:
    """Wait until the API server is done with the created objects: no contestant pays for that."""
    deadline, before = time.monotonic() + MOST_CALM_SECONDS, float("-inf")
    while time.monotonic() < deadline:
        now = sum(_cpu_of_servers(plane))
        if now - before < CALM_SHARE * CALM_SECONDS:
            return
        before = now
        time.sleep(CALM_SECONDS)


@dataclass(frozen=True)
class _Use:
    """What a process has used so far."""

    cpu_seconds: float = 0.0
    peak_bytes: int = 0


def _wait_until_bound(plane: ControlPlane, name: str, shape: Shape, offset: int) -> _Use:
    """Return what the contestant had used when the last pod was bound."""
    deadline = time.monotonic() + LONGEST_SECONDS
    use, bound = _Use(), 0
    with plane.audit_log.open("rb") as log:
        log.seek(offset)
        while bound < shape.pods and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            # Counting a mark is cheap enough not to disturb what is measured.
            bound += log.read().count(BINDING_MARK)
            try:
                use = _Use(plane.cpu_seconds(name), plane.peak_memory_bytes(name))
            except (OSError, StopIteration):
                continue  # It has ended, and what it used is known.
    return use


def _requests(plane: ControlPlane) -> float:
    """Return how many requests the API server has answered that are no watches or lists."""
    return sum(
        float(found["number"])
        for found in REQUESTS.finditer(plane.kubectl("get", "--raw=/metrics"))
        if not any(each in found["labels"] for each in NOT_COUNTED)
    )
