"""Far more is asked of the API server than it can do, and what counts goes on: with default APF.

A tenant creates pods over many connections, and the API server works on few requests at once. How
many pods: OVERLOAD_PODS, 10,000 by `make overload`.
"""

import asyncio
import itertools
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import pytest

from e2e.support import operator_health
from e2e.support.manifests import Manifest, gang
from e2e.support.namespaces import Namespace
from e2e.support.replicas import HOME, Pair, Write, account, options, writes
from e2e.support.waiting import until
from tools import controlplane
from tools.chart import CHART
from tools.controlplane import access, binaries

SECONDS: Final = 900.0
pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.timeout(3 * SECONDS)]

SIZE: Final = 20
GANGS: Final = int(os.environ.get("OVERLOAD_PODS", "600")) // SIZE
PODS: Final = GANGS * SIZE
CONNECTIONS: Final = 500
"""More than the queues of one client in the level workload-low take: 6 of 50 requests."""
IN_FLIGHT: Final = ("--max-requests-inflight=12", "--max-mutating-requests-inflight=6")
"""Divided among the levels by their shares. By default these are 400 and 200."""
OURS: Final = "overload"
TENANT: Final = "tenant"
LEVELS: Final = {(f"{HOME}.{OURS}", f"{HOME}.{OURS}"), (f"{HOME}.{OURS}-lease", "leader-election")}
REFUSED: Final = 429
KINDS: Final = ("PodGroup", "Pod")


@pytest.fixture(scope="module")
def plane(
    crds: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[controlplane.ControlPlane]:
    """Give an API server that works on little at once, with the FlowSchemas of the chart."""
    directory = tmp_path_factory.mktemp("audit")
    chosen = options(directory, *IN_FLIGHT, kwok=False, controller_manager=False)
    with controlplane.start(chosen) as started:
        started.kubectl("apply", f"--filename={crds}")
        started.kubectl("apply", "--filename=-", input=flow_schemas())
        started.nodes(PODS // 100 + 1, allocatable={"cpu": "128", "memory": "1Ti", "pods": "110"})
        yield started


def test_pods_at_once_are_all_bound_and_reported_and_the_leader_stays(
    plane: controlplane.ControlPlane,
) -> None:
    namespace = Namespace(plane, "many")
    namespace.begin()
    tenant = account(plane, namespace.name, TENANT)
    with Pair(plane, OURS, account_name=OURS) as pair, namespace.watch() as watcher:
        leader, other = pair.turns()
        holder, began = pair.lease()["holderIdentity"], time.monotonic()
        asyncio.run(create_all(tenant, namespace))
        created = time.monotonic() - began
        watcher.wait_until(lambda seen: bound(seen) == PODS, SECONDS)
        bound_in = time.monotonic() - began
        until(lambda: statuses(namespace) == {("Scheduled", SIZE): GANGS}, SECONDS)
        told_in = time.monotonic() - began

        found = list(writes(plane))
        times = Times(created, bound_in, told_in)
        print(figures(found, times), file=sys.stderr)
        # There was too much for the API server.
        assert refused(found)[TENANT]
        # It refused no renewal, and enough of them came in time.
        assert REFUSED not in {each.code for each in found if each.is_of_lease}
        assert holder == pair.lease()["holderIdentity"]
        assert 0 == pair.lease()["leaseTransitions"]
        assert leader.leads
        assert not other.leads
        assert LEVELS <= levels(plane)
        assert [] == operator_health.tracebacks(leader) + operator_health.tracebacks(other)


class Times(NamedTuple):
    """Seconds from the first request of the tenant."""

    created: float
    bound: float
    told: float


def figures(found: list[Write], times: Times) -> str:
    """Return what was measured, in a line."""
    leases = [each for each in found if each.is_of_lease]
    renewals = sorted(each.answered_at for each in leases if each.code < 300)
    longest = max(b - a for a, b in itertools.pairwise(renewals))
    slowest = max(each.answered_at - each.received_at for each in leases)
    ours = Counter(each.resource for each in found if each.account == OURS)
    return (
        f"\n{PODS} pods: created in {times.created:.0f} s, bound in {times.bound:.0f} s, statuses "
        f"right in {times.told:.0f} s; 429: {dict(refused(found))}; {len(renewals)} renewals of "
        f"the Lease, {longest:.1f} s between two at most, the slowest in {slowest:.1f} s; "
        f"writes of ours: {dict(ours)}"
    )


def refused(found: list[Write]) -> Counter[str]:
    """Return how often the API server had no room for a request, by account."""
    return Counter(each.account for each in found if each.code == REFUSED)


def levels(plane: controlplane.ControlPlane) -> set[tuple[str, str]]:
    """Return the FlowSchemas that requests went by, each with its level."""
    text = plane.kubectl("get", "--raw=/metrics")
    found = re.findall(r"^apiserver_flowcontrol_dispatched_requests_total\{(.*)\}", text, re.M)
    labels = (dict(re.findall(r'(\w+)="([^"]*)"', each)) for each in found)
    return {(each["flow_schema"], each["priority_level"]) for each in labels}


def flow_schemas() -> str:
    """Return the objects of the chart, for the account of the replicas."""
    values = ("image.repository=none", f"fullnameOverride={OURS}", f"serviceAccount.name={OURS}")
    chosen = [f"--set={each}" for each in values]
    helm, only = str(binaries.find("helm")), "--show-only=templates/flowschema.yaml"
    command = [helm, "template", OURS, str(CHART), f"--namespace={HOME}", *chosen, only]
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, check=True, capture_output=True, text=True
    )
    return done.stdout


async def create_all(tenant: access.Access, namespace: Namespace) -> None:
    """Create all gangs at once, as a client that waits when it is told to, and goes on."""
    groups: list[Manifest] = []
    pods: list[Manifest] = []
    for number in range(GANGS):
        group, *members = gang(f"g{number}", SIZE)
        groups.append(group)
        pods += members
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=tenant.tls())
    paths = {kind: f"{tenant.url}{namespace.path(f'{kind.lower()}s')}" for kind in KINDS}
    async with aiohttp.ClientSession(connector=connector, headers=tenant.headers()) as session:
        documents = iter([*groups, *pods])
        await asyncio.gather(*(create(session, paths, documents) for _ in range(CONNECTIONS)))


async def create(
    session: aiohttp.ClientSession, paths: Mapping[str, str], documents: Iterator[Manifest]
) -> None:
    """Create one object after the other, until there are no more."""
    for each in documents:
        is_there = False
        while not is_there:
            async with session.post(paths[each["kind"]], json=each) as answer:
                is_there = answer.status in {201, 409}
                if answer.status == REFUSED:
                    await asyncio.sleep(float(answer.headers.get("Retry-After", "1")))
                else:
                    assert is_there, await answer.text()


def bound(seen: controlplane.Watcher) -> int:
    return sum(1 for each in seen.states.values() if each.node)


def statuses(namespace: Namespace) -> Counter[tuple[str, int]]:
    """Return how many PodGroups have which phase, and how many bound members."""
    found = (each.get("status", {}) for each in namespace.every("podgroups"))
    return Counter((each.get("phase", ""), each.get("scheduled", 0)) for each in found)
