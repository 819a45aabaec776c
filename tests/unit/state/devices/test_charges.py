"""What queues count for claims: devices by class, and capacity, once for each claim."""

from typing import Any

import pytest

from gang_scheduler import from_settings
from gang_scheduler.model.device_needs import PodClaim
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.api_objects import pod_body
from support.device_objects import (
    CLASS,
    allocated,
    by_name,
    by_template,
    claim,
    device_class,
    naming,
    request,
    resource_slice,
    template,
)

COUNT = f"deviceclass/{CLASS}"


class Store:
    """A cache of objects in a cluster that serves devices."""

    def __init__(self, *bodies: dict[str, Any], **settings: Any) -> None:
        self.cache = from_settings.cache(Policy(**settings), Changes())
        self.cache.serve_devices(served=True)
        self._handlers = cache_feeding.event_handlers(self.cache)
        self._version = 0
        self.see(device_class(), device_class("nic"), *bodies)

    def see(self, *bodies: dict[str, Any], change: str = "MODIFIED") -> None:
        """Let objects be seen in a new version."""
        for body in bodies:
            self._version += 1
            metadata = {**body["metadata"], "resourceVersion": str(self._version)}
            cache_feeding.tell(self._handlers, change, {**body, "metadata": metadata})

    def counts(self, name: str) -> dict[str, int]:
        """Return what queues count for the claims of a pod."""
        self.cache.snapshot(0)
        found = self.cache.pod(f"uid-{name}")
        assert found is not None
        assert found.pod_class.charged == (*found.pod_class.requests, *found.pod_class.claimed)
        return dict(found.pod_class.claimed)


def pod(name: str, *entries: Any, created: dict[str, str] | None = None, **spec: Any) -> Any:
    """Return a pod with claims."""
    named = naming(*entries, created=created)
    return pod_body(name, status=named["status"], **named["spec"], **spec)


def of_class(device_class: str, **fields: Any) -> dict[str, Any]:
    """Return an alternative of a request."""
    return {"name": device_class, "deviceClassName": device_class, **fields}


def test_the_devices_of_all_requests_are_counted_by_class() -> None:
    both = claim("both", request(2), request(1, name="nic", device_class="nic"))
    store = Store(both, claim("more", request(3)), pod("w", by_name("both"), by_name("more")))

    assert store.counts("w") == {COUNT: 5, "deviceclass/nic": 1}


def test_a_pod_counts_as_much_before_its_claims_are_created_and_on_its_node() -> None:
    store = Store(template("two", request(2)), pod("w", by_template("two")))
    assert store.counts("w") == {COUNT: 2}

    made = claim("w-two", request(2), owner="w")
    there = {"nodeName": "n0"}
    store.see(allocated(made, "n0", "gpu-0", "gpu-1", pods=("w",)))
    store.see(pod("w", by_template("two"), created={"two": "w-two"}, **there))
    assert store.counts("w") == {COUNT: 2}


def test_of_alternatives_the_largest_is_counted_until_one_is_taken() -> None:
    first = {"name": "gpu", "firstAvailable": [of_class(CLASS, count=1), of_class("nic", count=4)]}
    made = claim("c", first)
    store = Store(made, pod("w", by_name("c")))
    assert store.counts("w") == {COUNT: 1, "deviceclass/nic": 4}

    taken = allocated(made, "n0", "gpu-0", pods=("w",))
    taken["status"]["allocation"]["devices"]["results"][0]["request"] = f"gpu/{CLASS}"
    store.see(taken)
    assert store.counts("w") == {COUNT: 1}


def test_administrative_access_counts_nothing() -> None:
    looking = request()
    looking["exactly"]["adminAccess"] = True

    assert Store(claim("c", looking), pod("w", by_name("c"))).counts("w") == {}


def test_capacity_that_is_asked_for_is_summed() -> None:
    part = request(2)
    part["exactly"]["capacity"] = {"requests": {"memory": "10Gi"}}

    found = Store(claim("c", part), pod("w", by_name("c"))).counts("w")

    assert found == {COUNT: 2, f"memory.{COUNT}": 20 * 2**30}


def test_all_devices_are_those_of_the_largest_node_until_they_are_allocated() -> None:
    everything = request()
    everything["exactly"] = {"deviceClassName": CLASS, "allocationMode": "All"}
    made = claim("c", everything)
    store = Store(made, pod("w", by_name("c")))
    assert store.counts("w") == {COUNT: 1}

    store.see(resource_slice("n0", 3), resource_slice("n1", 5))
    assert store.counts("w") == {COUNT: 5}

    store.see(allocated(made, "n0", "gpu-0", "gpu-1", "gpu-2", pods=("w",)))
    assert store.counts("w") == {COUNT: 3}


def test_a_shared_claim_is_charged_to_the_first_pod_and_then_to_the_next() -> None:
    store = Store(claim("c"), pod("a", by_name("c")), pod("b", by_name("c")))
    assert (store.counts("a"), store.counts("b")) == ({COUNT: 1}, {})

    store.see(pod("a", by_name("c")), change="DELETED")
    assert store.counts("b") == {COUNT: 1}


@pytest.mark.parametrize("entries", [[by_name("lost")], [by_template("lost")]])
def test_what_does_not_exist_counts_nothing(entries: list[Any]) -> None:
    assert Store(pod("w", *entries)).counts("w") == {}


def test_an_entry_names_its_claim_once() -> None:
    store = Store(claim("c", request(2)), pod("w", by_name("c", "x"), by_name("c", "y")))

    found = store.cache.pod("uid-w")
    assert found is not None
    assert [PodClaim("x", "c"), PodClaim("y", "c")] == [*found.claims]
    assert store.counts("w") == {COUNT: 2}


def of_memory(amount: str) -> dict[str, Any]:
    """Return the fields of a device that uses up so much of a counter."""
    return {"consumesCounters": [{"counterSet": "card", "counters": {"memory": {"value": amount}}}]}


def test_sources_of_a_mapping_are_charged_instead_of_devices() -> None:
    sources = [{"counter": {"name": "memory", "driver": "gpu.example.com"}}]
    mapping = {"name": "example.com/memory", "deviceClassNames": [CLASS], "sources": sources}
    made = claim("c", request(2))
    store = Store(made, pod("w", by_name("c")), device_class_mappings=[mapping])
    requests = store.cache.queues.requests
    assert requests.charged(tuple(store.counts("w").items())) == {}

    store.see(resource_slice("n0", 2, of_device=of_memory("10Gi")))
    assert store.counts("w") == {COUNT: 2, f".{COUNT}": 20 * 2**30}
    charged = requests.charged(tuple(store.counts("w").items()))
    assert charged == {"example.com/memory": 20 * 2**30}

    store.see(allocated(made, "n0", "gpu-0", pods=("w",)))
    assert store.counts("w") == {COUNT: 1, f".{COUNT}": 10 * 2**30}
