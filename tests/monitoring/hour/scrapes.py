"""What a Prometheus would have scraped of the scripted hour, as OpenMetrics text with times."""

import asyncio
from collections.abc import Iterator
from typing import Final

import prometheus_client
from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from monitoring.hour.clock import BEGAN_AT

EVERY_SECONDS: Final = 15
CPU_SHARE: Final = 0.25
"""How much of a core the process uses."""
MEMORY: Final = 200 * 2**20
TARGET: Final = {"job": "py-gang-scheduler", "instance": "a:8080", "namespace": "gangs"}


class _Process(Collector):
    """What the client library shows of a process, of one that is the same on each machine."""

    def collect(self) -> Iterator[Metric]:
        """Yield CPU time and memory."""
        now = asyncio.get_running_loop().time()
        yield CounterMetricFamily("process_cpu_seconds", "CPU time.", value=now * CPU_SHARE)
        yield GaugeMetricFamily("process_resident_memory_bytes", "Memory.", value=MEMORY)


class Scrapes:
    """The lines of all scrapes so far."""

    def __init__(self) -> None:
        REGISTRY.unregister(prometheus_client.PROCESS_COLLECTOR)
        REGISTRY.register(_Process())
        self._lines: list[str] = []

    async def run(self) -> None:
        """Scrape until cancelled."""
        while True:
            self._scrape()
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(EVERY_SECONDS - now % EVERY_SECONDS)

    def text(self) -> str:
        """Return the lines, as promtool makes blocks from."""
        return "\n".join([*self._lines, "# EOF", ""])

    def _scrape(self) -> None:
        at = BEGAN_AT + round(asyncio.get_running_loop().time())
        self._lines.append(_line("up", TARGET, 1, at))
        for family in text_string_to_metric_families(prometheus_client.generate_latest().decode()):
            for sample in family.samples:
                labels = {**sample.labels, **TARGET}
                self._lines.append(_line(sample.name, labels, sample.value, at))


def _line(name: str, labels: dict[str, str], value: float, at: int) -> str:
    inside = ",".join(f'{key}="{_escaped(each)}"' for key, each in labels.items())
    return f"{name}{{{inside}}} {value} {at}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
