"""The metric of devices follows the slices, the claims and the nodes."""

import asyncio

import pytest

from gang_scheduler.api.kinds import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from gang_scheduler.decode.devices.objects import (
    decode_claim,
    decode_class,
    decode_slice,
)
from gang_scheduler.periodic import device_gauge
from gang_scheduler.periodic.device_gauge import DeviceGauge
from gang_scheduler.telemetry import metrics
from support import device_objects
from support.measured import Measured
from support.metric_values import sample, until_shown


def devices(state: str) -> float | None:
    return sample("pgs_devices", **{"driver": device_objects.DRIVER, "class": "gpu"}, state=state)


def test_devices_are_counted_again_when_a_claim_or_a_slice_changes() -> None:
    found = Measured()
    found.cache.serve_devices(served=True)
    gauge = DeviceGauge(found.cache)
    known = found.cache.devices
    known.upsert(DEVICE_CLASSES, decode_class(device_objects.device_class()))
    known.upsert(RESOURCE_SLICES, decode_slice(device_objects.resource_slice("n1")))
    gauge.show()
    assert (4, 0, 0) == (devices("free"), devices("used"), devices("tainted"))

    body = device_objects.allocated(device_objects.claim("c"), "n1", "gpu-0", pods=("p",))
    known.upsert(RESOURCE_CLAIMS, decode_claim(body))
    gauge.show()
    assert (3, 1) == (devices("free"), devices("used"))

    gauge.show()
    assert (3, 1) == (devices("free"), devices("used"))


def test_slices_of_which_nodes_are_not_known_are_counted() -> None:
    found = Measured()
    found.cache.serve_devices(served=True)
    gauge = DeviceGauge(found.cache)
    unknown = device_objects.resource_slice("n2", nodeName=None)
    for body in (device_objects.resource_slice("n1"), unknown):
        found.cache.devices.upsert(RESOURCE_SLICES, decode_slice(body))

    gauge.show()

    assert 1 == sample("pgs_slices_skipped")


def test_many_classes_are_folded_into_at_most_500_series() -> None:
    found = Measured()
    found.cache.serve_devices(served=True)
    gauge = DeviceGauge(found.cache)
    known = found.cache.devices
    for number in range(300):
        body = device_objects.device_class(f"class-{number}")
        known.upsert(DEVICE_CLASSES, decode_class(body))
    known.upsert(RESOURCE_SLICES, decode_slice(device_objects.resource_slice("n1")))

    gauge.show()

    shown = metrics.DEVICES._shown
    assert 100 < len(shown) <= 500
    assert 300 * 4 == sum(
        sample("pgs_devices", **dict(zip(metrics.DEVICES.label_names, each, strict=True))) or 0
        for each in shown
    )


async def test_devices_are_counted_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_gauge, "LEAST_SECONDS", 0.01)
    found = Measured()
    found.cache.serve_devices(served=True)
    running = asyncio.create_task(DeviceGauge(found.cache).run())
    known = found.cache.devices
    known.upsert(DEVICE_CLASSES, decode_class(device_objects.device_class()))
    known.upsert(RESOURCE_SLICES, decode_slice(device_objects.resource_slice("n1", 7)))

    await until_shown(
        7, "pgs_devices", **{"driver": device_objects.DRIVER, "class": "gpu"}, state="free"
    )
    running.cancel()
