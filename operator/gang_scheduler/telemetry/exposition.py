"""The metrics as text, in the format of Prometheus.

prometheus_client would write the same text. It spends most of its time on the labels of series,
which are the same at each scrape and are written only once here. A scrape blocks the process: with
3,300 series for 20 ms here, instead of 33 ms.
"""

from collections.abc import Iterator

from prometheus_client import REGISTRY, CollectorRegistry, Metric
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

Key = tuple[str, ...]
"""The key of a series: the name of its samples, and the values of its labels."""


class Exposition:
    """The metrics of a registry as text. Removed series are not kept."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._registry = registry
        self._series: dict[Key, str] = {}

    def text(self) -> bytes:
        """Return all series with their present values."""
        before, self._series = self._series, {}
        return "".join(self._lines(before)).encode()

    def _lines(self, before: dict[Key, str]) -> Iterator[str]:
        series = self._series
        for metric in self._registry.collect():
            yield _header(metric)
            for sample in metric.samples:
                # All samples of a metric have the same labels, in the same order.
                key = (sample.name, *sample.labels.values())
                begins = series[key] = before.get(key) or _series(sample)
                value = floatToGoString(sample.value)  # type: ignore[no-untyped-call] # no types.
                yield f"{begins} {value}\n"


def _header(metric: Metric) -> str:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    about = metric.documentation.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {about}\n# TYPE {name} {metric.type}\n"


def _series(sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(each)}"' for name, each in sorted(sample.labels.items()))
    return f"{sample.name}{{{labels}}}" if labels else sample.name


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
