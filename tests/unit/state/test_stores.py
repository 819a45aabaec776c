"""Which DeviceClass offers a resource, as classes come and go."""

from gang_scheduler.model.devices import DeviceClass
from gang_scheduler.state.changes import Change
from gang_scheduler.state.devices.device_cache import DeviceCache
from gang_scheduler.state.nodes import NodeUsage
from gang_scheduler.state.stores import DeviceClassStore

GPU = "nvidia.com/gpu"


def device_class(name: str, created_at: float = 0) -> DeviceClass:
    return DeviceClass(name, uid=name, created=created_at, extended_resource=GPU)


def test_the_youngest_class_offers_a_resource_and_of_equal_ones_the_first_by_name() -> None:
    usage = NodeUsage()
    store = DeviceClassStore(usage, DeviceCache(enabled=True))
    for name, created_at, expected in (("b", 1, "b"), ("c", 1, "b"), ("d", 2, "d"), ("a", 1, "d")):
        assert store.upsert(device_class(name, created_at)) is Change.ROOM_FREED
        assert expected == usage.table().device_classes[GPU]

    assert store.delete("d") is Change.ROOM_FREED
    assert "a" == usage.table().device_classes[GPU]


def test_a_class_offers_its_devices_by_its_own_name_too() -> None:
    usage = NodeUsage()
    store = DeviceClassStore(usage, DeviceCache(enabled=True))
    store.upsert(DeviceClass("gpus", uid="u"))

    assert {"deviceclass.resource.kubernetes.io/gpus": "gpus"} == usage.table().device_classes


def test_what_says_the_same_again_is_no_news() -> None:
    usage = NodeUsage()
    store = DeviceClassStore(usage, DeviceCache(enabled=True))
    store.upsert(device_class("a"))
    before = usage.table()

    assert store.upsert(device_class("a")) is Change.NOTHING
    assert store.delete("other") is Change.NOTHING
    assert before is usage.table()
    assert ["a"] == [*store.uids()]
