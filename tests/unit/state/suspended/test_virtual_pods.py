"""Members of a suspended Job that share a claim are charged for its devices once."""

from typing import Any

import pytest

from gang_scheduler.inspection.listing import devices as listed
from gang_scheduler.model.pods import numbers_of
from support import device_objects
from support.device_objects import CLASS, by_name, by_template, claim, device_class, request
from support.in_memory_cluster import native_body
from support.suspended_jobs import NOW, Body, Cluster, changed, job, our_queue, template

COUNT = f"deviceclass/{CLASS}"


def cluster(*bodies: Any, devices: int = 2) -> Cluster:
    """Return a cluster with a queue that is promised so many devices, on a node that has them."""
    found = Cluster({"n1": 8})
    found.cache.serve_devices(served=True)
    quota = {"soft": {"cpu": "8", COUNT: str(devices)}}
    found.see(device_class(), device_objects.resource_slice("n1", 8), our_queue(quota=quota))
    found.see(*bodies)
    return found


def suspended(name: str, *entries: Body, pods: int = 3, group: str = "") -> Body:
    """Return a suspended Job whose pods have these claims, and are in a native PodGroup."""
    grouped: Body = {"schedulingGroup": {"podGroupName": group}} if group else {}
    return job(name, pods, of=template(resourceClaims=[*entries], **grouped))


def charged(found: Cluster) -> int:
    """Return for how many devices queues are charged, once the Jobs have room."""
    found.cycle()
    state = found.cache.queue_state(NOW)
    amounts = state.usage.charged.values() if state is not None else ()
    return sum(amount for each in amounts for key, amount in each.items() if key.resource == COUNT)


@pytest.mark.parametrize("number", [1, 3])
def test_a_claim_by_name_is_charged_once(number: int) -> None:
    found = cluster(claim("both", request(2)), suspended("a", by_name("both"), pods=number))

    assert 2 == charged(found)
    assert ["a"] == found.admitted


def test_the_claim_of_a_native_group_is_charged_once_and_one_of_each_pod_each_time() -> None:
    group = native_body("g", 3, resourceClaims=[by_template("two")])
    entries = by_template("two"), by_template("one", "own")
    found = cluster(
        device_objects.template("two", request(2)),
        device_objects.template("one", request()),
        dict(group),
        suspended("a", *entries, group="g"),
        devices=5,
    )

    assert 5 == charged(found)
    assert ["a"] == found.admitted
    assert 5 == listed.number_of(found.cache.pods(), found.cache)


def test_a_claim_that_two_jobs_share_is_charged_to_one_of_them() -> None:
    shared = claim("both", request(2))
    jobs = suspended("a", by_name("both")), suspended("b", by_name("both"))
    found = cluster(shared, *jobs)
    assert 2 == charged(found)


def test_members_are_the_same_when_they_are_declared_again() -> None:
    body = suspended("a", by_name("both"))
    found = cluster(claim("both", request(2)), body)
    (before,) = found.cache.gang_queue.infos.values()
    members = before.observed.virtual

    found.see(changed(body))

    assert members is not None
    assert members == before.observed.virtual
    assert [1, 2] == sorted(numbers_of(members).values())
