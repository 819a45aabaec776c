"""Nodes by state, and what is used and free on them."""

from gang_scheduler.periodic.device_gauge import DeviceGauge
from gang_scheduler.report.gang_metrics import ClusterGauges
from support import builders, cache_feeding, device_objects
from support.measured import Measured
from support.metric_values import sample, series


def by_state() -> dict[str, float]:
    return {dict(labels)["state"]: value for labels, value in series("pgs_nodes").items()}


def test_nodes_are_counted_by_state() -> None:
    found = Measured()
    for node in (builders.node("n3", ready=False), builders.node("n4", unschedulable=True)):
        found.cache.upsert(found.cache.node_store, node)
    found.measures.show()

    assert {"ready": 2, "not_ready": 1, "cordoned": 1, "outside_tree": 0} == by_state()
    found.label_blocks()
    found.measures.show()
    assert 2 == by_state()["outside_tree"]


def test_what_all_pods_use_is_a_part_of_what_ready_nodes_have() -> None:
    found = Measured()
    found.cache.upsert(found.cache.node_store, builders.node("n3", ready=False))
    found.cache.upsert_pod(builders.pod("p", node="n1", cpu=4, scheduler="another"))
    found.measures.show()

    name = "training_cluster_resource_utilization"
    assert 0.25 == sample(name, resource_type="cpu", queue="_cluster")
    assert sample(name, resource_type="nvidia.com/gpu", queue="_cluster") is None


def test_devices_count_as_the_resource_that_their_class_names() -> None:
    found = Measured()
    found.cache.serve_devices(served=True)
    handlers = cache_feeding.event_handlers(found.cache)
    of_class = device_objects.device_class(extendedResourceName="nvidia.com/gpu")
    claim = device_objects.claim("c")
    for body in (of_class, device_objects.resource_slice("n1"), claim):
        cache_feeding.tell(handlers, "ADDED", body)
    name = "training_cluster_resource_utilization"
    of_devices = DeviceGauge(found.cache)
    gauges = ClusterGauges(found.cache, of_devices.offered)

    of_devices.show()
    gauges.show(())
    assert 0 == sample(name, resource_type="nvidia.com/gpu", queue="_cluster")
    used = device_objects.allocated(claim, "n1", "gpu-0", pods=("p",))
    cache_feeding.tell(handlers, "MODIFIED", used)
    of_devices.show()
    gauges.show(())
    assert 0.25 == sample(name, resource_type="nvidia.com/gpu", queue="_cluster")


def test_what_is_free_is_idle_only_while_a_gang_asks_for_it() -> None:
    found = Measured()
    found.cache.upsert(found.cache.node_store, builders.node("n3", cpu=100, unschedulable=True))
    gauges = ClusterGauges(found.cache)
    gauges.show({"cpu"})

    assert 16 == sample("pgs_idle_while_waiting", resource="cpu")
    assert 0 == sample("pgs_idle_while_waiting", resource="memory")
    gauges.show(())
    assert 0 == sample("pgs_idle_while_waiting", resource="cpu")
