"""`python -m tools.picture.page`: draw the pictures of the page that are in the docs.

The cluster is made up: 128 nodes in 16 racks, three queues, and five hours that the page remembers.
"""

import asyncio
import base64
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page.gpu_history import Use
from gang_scheduler.page.history import Past
from gang_scheduler.page.view import Heartbeat, Reading
from support.chromium import Tab, chromium
from support.listed_clusters import Body, gang, node, queue
from support.pages import opened
from support.remembered_clusters import NOON, Remembered

IMAGES: Final = Path("docs/images")
SPINES, RACKS_EACH, NODES_EACH, GPUS = 4, 4, 8, 8
LAYERS: Final = (("SpineLayer", "spine"), ("RackLayer", "rack"))
HOST: Final = "kubernetes.io/hostname"
MINUTE: Final = 60
OVERVIEW_HEIGHT: Final = 1370
MARGIN: Final = 6
USED: Final = (
    *((300, 560, 40), (285, 620, 60), (265, 704, 0), (240, 752, 96), (210, 800, 0)),
    *((180, 912, 64), (150, 912, 0), (120, 848, 128), (90, 880, 64), (60, 880, 0)),
    *((45, 944, 0), (25, 896, 192), (10, 824, 432)),
)
"""So many minutes ago so many GPUs were used, and waiting gangs asked for so many."""
TODAY: Final = f"""
Date = class extends Date {{
  constructor(...given) {{ if (given.length) super(...given); else super({NOON * 1000}); }}
}};
"""
"""The browser's day is that of the cluster, so times have no date."""
SCREENS: Final = (
    ("page-gangs.png", "/gangs", 1280, 560, "light"),
    ("page-gang.png", "/gangs/research/mixtral-of-experts", 1280, 1000, "light"),
    ("page-queues.png", "/queues", 1280, 340, "light"),
    ("page-queue.png", "/queues/red", 1280, 560, "light"),
    ("page-node.png", "/nodes/gpu-009", 1280, 420, "light"),
    ("page-decisions.png", "/decisions", 1280, 480, "light"),
    ("page-try.png", "/try?name=tune&nodes=4&gpus=8&queue=green", 1280, 1000, "light"),
    ("page-dark.png", "/", 1280, 900, "dark"),
    ("page-phone.png", "/", 360, 800, "dark"),
)
"""Each screen: its picture, address, width, height and colours."""
DRAWN: Final = "document.getElementById('map')?.style.width"


class Day(Remembered):
    """A cluster whose scheduler is alive."""

    def read(self) -> Reading:
        """Return the cluster at that time."""
        beat = Heartbeat("py-gang-scheduler-0", self.at - 2, 15)
        return super().read()._replace(heartbeat=beat)


def main() -> None:
    """Draw all pictures."""
    asyncio.run(_draw())


async def _draw() -> None:
    with tempfile.TemporaryDirectory() as directory:
        source = Day(Path(directory), list(_cluster()))
        source.events = _events()
        async with (
            opened(source, enter=False, past=_remembered(), title="gpu-cluster") as browser,
            chromium() as tab,
        ):
            await tab.ask("Emulation.setTimezoneOverride", timezoneId="UTC")
            await tab.ask("Emulation.setScrollbarsHidden", hidden=True)
            await tab.ask("Page.addScriptToEvaluateOnNewDocument", source=TODAY)
            await _sized(tab, 1400, OVERVIEW_HEIGHT)
            await tab.open(browser.address)
            address = browser.address.partition("/?")[0]
            await tab.until(DRAWN)
            await _take(tab, "page.png")
            await _sized(tab, 1280, 760)
            await tab.open(f"{address}/nodes?gang=research%2Fllama-pretrain&node=gpu-009")
            await tab.until(DRAWN)
            await _take(tab, "page-nodes.png")
            await tab.open(f"{address}/gangs/vision/diffusion")
            await _take(tab, "page-timeline.png", await _area(tab, ".timeline", ".spans"))
            for name, path, width, height, scheme in SCREENS:
                features = [{"name": "prefers-color-scheme", "value": scheme}]
                await tab.ask("Emulation.setEmulatedMedia", features=features)
                await _sized(tab, width, height)
                await tab.open(f"{address}{path}")
                if path == "/":
                    await tab.until(DRAWN)
                await _take(tab, name)


async def _sized(tab: Tab, width: int, height: int) -> None:
    await tab.ask(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=height, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip


async def _area(tab: Tab, first: str, last: str) -> dict[str, float]:
    """Return what to draw: from the top of an element to the bottom of another one."""
    top, left, width = await tab.value(
        f"(({{ x, y, width }}) => [y + scrollY, x, width])"
        f"(document.querySelector('{first}').getBoundingClientRect())"
    )
    bottom = await tab.value(
        f"document.querySelector('{last}').getBoundingClientRect().bottom + scrollY"
    )
    x, y = left - MARGIN, top - MARGIN
    return {
        "x": x, "y": y, "width": width + 2 * MARGIN, "height": bottom - y + MARGIN, "scale": 1,
    }  # fmt: skip


async def _take(tab: Tab, name: str, area: dict[str, float] | None = None) -> None:
    options: dict[str, Any] = {"clip": area, "captureBeyondViewport": True} if area else {}
    found = await tab.ask("Page.captureScreenshot", format="png", **options)
    target = IMAGES / name
    await asyncio.to_thread(target.write_bytes, base64.b64decode(found["data"]))
    print(target)


def _remembered() -> Past:
    """Return the hours before, a point each five minutes."""
    past = Past()
    for minutes in range(300, 0, -1):
        used, asked = next(each[1:] for each in reversed(USED) if each[0] >= minutes)
        at = NOON - MINUTE * minutes
        past.noted(at, (), (), Use(at, SPINES * RACKS_EACH * NODES_EACH * GPUS, used, asked))
    return past


def _cluster() -> Iterator[Body]:
    yield _tree()
    names = []
    for number in range(SPINES * RACKS_EACH * NODES_EACH):
        rack, spine = number // NODES_EACH, number // (NODES_EACH * RACKS_EACH)
        name = f"gpu-{number:03}"
        labels = {"spine": f"spine-{spine}", "rack": f"rack-{rack:02}", HOST: name}
        made = node(name, GPUS, labels)
        if number == 77:
            made["spec"] = {"unschedulable": True}
        if number == 78:
            made["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        names.append(name)
        yield made
    yield from (queue("blue", 512), queue("red", 384), queue("green", 128))
    runs = (
        ("research", "llama-pretrain", "blue", 0, 32, "07:05"),
        ("vision", "resnet-sweep", "red", 32, 16, "07:40"),
        ("vision", "diffusion", "red", 48, 12, "08:30"),
        ("audio", "speech-large", "green", 60, 16, "09:10"),
        ("research", "alignment", "blue", 80, 27, "11:00"),
    )
    for namespace, name, of_queue, first, members, created in runs:
        bodies = gang(
            *(name, members),
            queue=of_queue, namespace=namespace, created=f"2026-01-01T{created}:00Z",
            nodes=names[first : first + members],
        )  # fmt: skip
        yield from _restarted(bodies) if name == "diffusion" else bodies
    waits = (
        ("vision", "ablate", "red", 24, "11:50"),
        ("research", "mixtral-of-experts", "blue", 30, "11:19"),
        ("research", "blue-sweep", "blue", 24, "11:35"),
    )
    for namespace, name, of_queue, members, created in waits:
        yield from gang(
            *(name, members),
            queue=of_queue, namespace=namespace, created=f"2026-01-01T{created}:00Z",
        )  # fmt: skip


def _restarted(bodies: Sequence[Body]) -> Iterator[Body]:
    """Yield a gang whose members were created again after an eviction."""
    for body in bodies:
        if body["kind"] == "Pod":
            body["metadata"]["creationTimestamp"] = "2026-01-01T10:40:00Z"
            body["status"]["startTime"] = "2026-01-01T11:01:10Z"
            body["status"]["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": "2026-01-01T11:00:00Z",
                }
            ]
        yield body


def _tree() -> Body:
    """Return the topology: spines, racks and nodes."""
    spec: list[Body] = []
    for layer, label in (*LAYERS, ("NodeTopologyLayer", HOST)):
        above = {"parentTopologyLayer": spec[-1]["topologyLayer"]} if spec else {}
        spec.append({"topologyLayer": layer, "labelKey": [label], **above})
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": spec},
    }


def _events() -> list[SchedulerEvent]:
    def told(minutes: int, namespace: str, name: str, reason: str, note: str) -> SchedulerEvent:
        first = NOON - MINUTE * minutes
        return SchedulerEvent(namespace=namespace, name=name, reason=reason, note=note, first=first)

    gang_of = ("vision", "diffusion")
    return [
        told(
            209,
            *gang_of,
            "FailedScheduling",
            "Unschedulable: It needs 12 nodes with 8 free nvidia.com/gpu; 10 have it",
        ),
        told(197, *gang_of, "Scheduled", "Successfully assigned 12 members to 12 nodes in spine-1"),
        told(80, *gang_of, "Preempted", "Preempted by audio/speech-large: 12 members"),
        told(
            74,
            *gang_of,
            "FailedScheduling",
            "Unschedulable: It needs 12 nodes with 8 free nvidia.com/gpu; 4 have it",
        ),
        told(60, *gang_of, "Scheduled", "Successfully assigned 12 members to 12 nodes in spine-1"),
        told(
            58, "research", "alignment", "Scheduled", "Successfully assigned 27 members to 27 nodes"
        ),
    ]


if __name__ == "__main__":
    main()
