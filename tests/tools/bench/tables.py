"""Results as Markdown: one table of everything that is compared, and one a shape with it all."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from tools.bench.contestants import CONTESTANTS
from tools.bench.results import Result
from tools.bench.shape import Shape

USUAL: Final = Shape()


def _plain(number: float | None, digits: int = 0) -> str:
    return "" if number is None else f"{number:,.{digits}f}"


COLUMNS: Final[Mapping[str, Callable[[Result], str]]] = {
    "bound": lambda it: _plain(it.bound),
    "pods/s": lambda it: _plain(it.pods_per_second),
    "s to the last": lambda it: _plain(it.seconds_to_last, 1),
    "p50 ms": lambda it: _plain(it.p50),
    "p99 ms": lambda it: _plain(it.p99),
    "CPU ms/pod": lambda it: _plain(it.scheduler_cpu_ms, 2),
    "API server ms/pod": lambda it: _plain(it.api_server_cpu_ms, 2),
    "etcd ms/pod": lambda it: _plain(it.etcd_cpu_ms, 2),
    "peak MB": lambda it: _plain(it.peak_megabytes),
    "requests/pod": lambda it: _plain(it.requests_a_pod, 2),
}
"""What is said of a contestant on a shape."""


def latest(results: Iterable[Result]) -> list[Result]:
    """Return one result a contestant and shape: the last."""
    return list({(each.contestant, each.shape): each for each in results}.values())


def combined(results: Iterable[Result]) -> str:
    """Return the table of contestants against shapes."""
    by_place = {(each.contestant, each.shape): each for each in results}
    shapes = list(dict.fromkeys(shape for _, shape in by_place))
    rows = [
        [name, *(_cell(by_place.get((name, shape))) for shape in shapes)]
        for name in in_order(name for name, _ in by_place)
    ]
    return _markdown(["", *map(title, shapes)], rows)


def one_by_one(results: Iterable[Result]) -> str:
    """Return a table a shape, with all columns that say anything about it."""
    by_shape: dict[Shape, list[Result]] = {}
    for each in results:
        by_shape.setdefault(each.shape, []).append(each)
    return "\n\n".join(f"**{shape}**\n\n{_of_shape(each)}" for shape, each in by_shape.items())


def problems(results: Iterable[Result]) -> Iterator[str]:
    """Yield the problems of final states, with contestant and shape."""
    for each in results:
        yield from (f"{each.contestant}, {each.shape}: {text}" for text in each.problems)


def title(shape: Shape) -> str:
    """Return what sets a shape apart."""
    what = f"{shape.gangs:,} x {shape.size:,}"
    nodes = f"{shape.nodes:,} nodes" if shape.nodes != USUAL.nodes else ""
    live = f"live at {shape.rate:,}/s" if shape.rate else ""
    queues = f"{shape.queues:,} queues" if shape.queues else ""
    claims = "a claim a pod" if shape.claims else ""
    kwok = "KWOK" if shape.kwok else ""
    return ", ".join(filter(None, [what, nodes, live, shape.rule, queues, claims, kwok]))


def in_order(names: Iterable[str]) -> list[str]:
    """Return each contestant once, the known ones in the order of their list."""
    order = list(CONTESTANTS)
    return sorted(
        dict.fromkeys(names), key=lambda name: order.index(name) if name in order else len(order)
    )


def _cell(result: Result | None) -> str:
    """Return the rate, and in brackets what else there is to compare on this shape."""
    if result is None:
        return ""
    shape = result.shape
    more = [
        f"only {result.bound:,} bound" if result.bound < shape.pods else "",
        f"{result.p99:,.0f} ms" if result.p99 is not None else "",
        f"{result.seconds_to_last:.1f} s" if shape.gangs == 1 else "",
        f"{result.scheduler_cpu_ms:.2f}",
    ]
    return f"{result.pods_per_second:,.0f} ({'; '.join(filter(None, more))})"


def _of_shape(results: Sequence[Result]) -> str:
    said = {name: cell for name, cell in COLUMNS.items() if any(map(cell, results))}
    by_name = {each.contestant: each for each in results}
    rows = [[name, *(cell(by_name[name]) for cell in said.values())] for name in in_order(by_name)]
    return _markdown(["", *said], rows)


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))
