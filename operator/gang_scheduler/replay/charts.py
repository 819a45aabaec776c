"""The pictures of the report, as SVG without scripts: the page sets the colours."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from gang_scheduler.replay import table

Json = Mapping[str, Any]

WIDTH, HEIGHT = 960, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 26
MOST_COLOURS: Final = 8
OTHERS: Final = "(others)"


def figure(caption: str, svg: str) -> str:
    """Return a picture with its caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{svg}</figure>\n"


def legend(names: Sequence[str], *, waits: bool = False) -> str:
    """Return the legend of colours and names."""
    parts = [
        f'<span><i style="background:{colour(place)}"></i>{escape(name)}</span>'
        for place, name in enumerate(names)
    ]
    if waits:
        parts.append('<span><i style="background:var(--line)"></i>waiting</span>')
    return f'<div class="legend">{"".join(parts)}</div>'


def colour(place: int) -> str:
    """Return the colour of a line or an area."""
    return f"var(--c{place % MOST_COLOURS})"


class Axes:
    """A picture with two axes, from 0 to the greatest value, `logarithmic` in x or not."""

    def __init__(self, most_x: float, most_y: float, height: int = HEIGHT) -> None:
        self.most_x, self.most_y, self.height = most_x or 1, most_y or 1, height

    def x(self, value: float) -> float:
        """Return where a value is across."""
        return round(LEFT + value / self.most_x * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        """Return where a value is up."""
        return round(self.height - BOTTOM - value / self.most_y * (self.height - TOP - BOTTOM), 1)

    def drawn(self, inside: str, up: Any, across: Any) -> str:  # noqa: ANN401 - write numbers.
        """Return the picture; `up` and `across` write the values of the axes."""
        return svg(self.height, "".join(self._grid(up, across)) + inside)

    def _grid(self, up: Any, across: Any) -> Iterator[str]:  # noqa: ANN401 - write numbers.
        bottom = self.height - BOTTOM
        for value in ticks(self.most_y):
            y = self.y(value)
            yield f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
            yield f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{escape(up(value))}</text>'
        steps = 6
        for step in range(steps + 1):
            value = self.most_x * step / steps
            anchor = "end" if step == steps else "start" if step == 0 else "middle"
            yield (
                f'<text x="{self.x(value)}" y="{bottom + 16}" text-anchor="{anchor}">'
                f"{escape(across(value))}</text>"
            )


def svg(height: int, inside: str) -> str:
    """Return a picture of a height."""
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{inside}</svg>'


def ticks(most: float, number: int = 4) -> list[float]:
    """Return round values for the ticks of an axis, from 0 up to `most`."""
    raw = most / number
    size = 10 ** math.floor(math.log10(raw)) if raw > 0 else 1
    step = next((size * each for each in (1, 2, 2.5, 5, 10) if size * each >= raw), raw)
    return [step * place for place in range(int(most / step + 1e-9) + 1)]


# Waits.


def waits(policies: Sequence[Json]) -> str:
    """Return a chart of how many jobs waited no longer than a time.

    The time axis is logarithmic.
    """
    most = max((policy["waits"][-1] for policy in policies if policy["waits"]), default=1)
    axes = Axes(_log(max(most, 60)), 100)
    lines = []
    for place, policy in enumerate(policies):
        points = [(_log(wait), part) for part, wait in enumerate(policy["waits"])]
        lines.append(_line(axes, points, place))
    return axes.drawn(
        "".join(lines), lambda value: f"{value:.0f} %", lambda value: table.duration(_unlog(value))
    )


def _log(seconds: float) -> float:
    # Below a minute, the scale has even steps; above, factors.
    return math.log1p(seconds / 60)


def _unlog(value: float) -> float:
    return math.expm1(value) * 60


def _line(axes: Axes, points: Sequence[tuple[float, float]], place: int, width: float = 2) -> str:
    path = " ".join(f"{axes.x(x)} {axes.y(y)}" for x, y in points)
    if not path:
        return ""
    dash = ("", "6 3", "2 3", "8 3 2 3")[place // MOST_COLOURS % 4 or place % 4]
    return (
        f'<path d="M{path}" fill="none" stroke="{colour(place)}" stroke-width="{width}" '
        f'stroke-dasharray="{dash}"/>'
    )


def boxes(policies: Sequence[Json]) -> str:
    """Return a chart of the waits in each queue, with a bar for each policy."""
    queues = list(policies[0]["wait"]["byQueue"])[:40]
    bar, gap = 8, 8
    row = bar * len(policies) + gap
    height = TOP + row * len(queues) + BOTTOM
    spreads = [policy["wait"]["byQueue"].get(queue) for queue in queues for policy in policies]
    most = max((each["p99"] for each in spreads if each), default=1)
    left = 150
    scale = (WIDTH - left - RIGHT) / _log(max(most, 60))
    parts = []
    for step in range(7):
        value = _log(max(most, 60)) * step / 6
        x = round(left + value * scale, 1)
        anchor = "end" if step == 6 else "start" if step == 0 else "middle"
        parts.append(f'<path class="grid" d="M{x} {TOP}V{height - BOTTOM}"/>')
        text = escape(table.duration(_unlog(value)))
        parts.append(f'<text x="{x}" y="{height - 8}" text-anchor="{anchor}">{text}</text>')
    for number, queue in enumerate(queues):
        top = TOP + number * row
        name = escape(table.shortened(queue, 22))
        middle = top + bar * len(policies) / 2 + 4
        parts.append(f'<text x="{left - 8}" y="{middle}" text-anchor="end">{name}</text>')
        for place, policy in enumerate(policies):
            spread = policy["wait"]["byQueue"].get(queue)
            if spread:
                parts.append(_box(spread, left, scale, top + place * bar, place))
    return svg(height, "".join(parts))


def _box(spread: Json, left: int, scale: float, top: int, place: int) -> str:
    p50, p90, p99, mean = (
        round(left + _log(spread[name]) * scale, 1) for name in ("p50", "p90", "p99", "mean")
    )
    middle = top + 3
    return (
        f'<path d="M{p50} {middle}H{p99}" stroke="{colour(place)}"/>'
        f'<rect x="{p50}" y="{top}" width="{max(1.5, p90 - p50):.1f}" height="6" '
        f'fill="{colour(place)}" rx="1"/>'
        f'<circle cx="{mean}" cy="{middle}" r="2.6" fill="var(--paper)" class="ink"/>'
    )


# Over time.


def queues_of(policy: Json) -> list[str]:
    """Return the queues that have their own colour: the largest ones; the others share one."""
    used = policy["series"]["used"]
    ordered = sorted(used, key=lambda name: (-sum(used[name]), name))
    if len(ordered) <= MOST_COLOURS:
        return ordered
    return [*ordered[: MOST_COLOURS - 1], OTHERS]


def usage(policy: Json, shown: Sequence[str]) -> str:
    """Return a stacked chart of the usage of queues over time, with waiting requests on top.

    `shown` are the queues with their own colour, the same ones in all pictures.
    """
    series = policy["series"]
    step, used = series["stepSeconds"], series["used"]
    number = len(series["waiting"])
    below = [0.0] * number
    capacity = policy["capacity"]
    tops = []
    for name in shown:
        if name == OTHERS:
            rest = [used[each] for each in used if each not in shown]
            values = [sum(each) for each in zip(*rest, strict=True)]
        else:
            values = used[name]
        tops.append([low + value for low, value in zip(below, values, strict=True)])
        below = tops[-1]
    # A backlog of days would flatten everything else.
    most = min(
        max([low + wait for low, wait in zip(below, series["waiting"], strict=True)] or [1]),
        2 * capacity,
    )
    waits_top = [min(low + wait, most) for low, wait in zip(below, series["waiting"], strict=True)]
    axes = Axes(number * step, max(most, capacity) * 1.04)
    parts, low = [], [0.0] * number
    for place, top in enumerate(tops):
        parts.append(_area(axes, low, top, step, colour(place)))
        low = top
    parts.append(_area(axes, low, waits_top, step, "var(--line)"))
    y = axes.y(capacity)
    parts.append(f'<path class="ink" d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke-dasharray="4 3"/>')
    return axes.drawn("".join(parts), table.number, table.duration)


def _area(axes: Axes, low: Sequence[float], top: Sequence[float], step: int, fill: str) -> str:
    upper = [
        f"{axes.x((place + side) * step)} {axes.y(value)}"
        for place, value in enumerate(top)
        for side in (0, 1)
    ]
    lower = [
        f"{axes.x((place + side) * step)} {axes.y(value)}"
        for place, value in reversed(list(enumerate(low)))
        for side in (1, 0)
    ]
    path = " ".join([*upper, *lower])
    return f'<path d="M{path}Z" fill="{fill}" fill-opacity=".85"/>' if path else ""


def unfairness(policies: Sequence[Json]) -> str:
    """Return a chart of the part of the cluster that wrong queues use, a line for each policy."""
    longest = max(
        (len(each["series"]["unfairness"]) * each["series"]["stepSeconds"] for each in policies),
        default=1,
    )
    values = [value for each in policies for value in each["series"]["unfairness"]]
    axes = Axes(longest, max([0.05, *values]) * 1.05, 200)
    lines = []
    for place, policy in enumerate(policies):
        step = policy["series"]["stepSeconds"]
        points = [
            ((number + 0.5) * step, value)
            for number, value in enumerate(policy["series"]["unfairness"])
        ]
        lines.append(_line(axes, points, place, 1.5))
    return axes.drawn("".join(lines), table.percent, table.duration)


def gantt(policy: Json, queues: Sequence[str]) -> str:
    """Return a chart of when the largest gangs waited and ran, a line for each gang."""
    row, shown = 9, policy["largest"]
    height = TOP + row * len(shown) + BOTTOM
    colours = {name: place for place, name in enumerate(queues)}
    last = colours.get(OTHERS, MOST_COLOURS - 1)
    ends = [end for gang in shown for run in gang["runs"] for end in run]
    ends += [gang["submitted"] + gang["waited"] for gang in shown]
    axes = Axes(max([1, *ends]), 1, height)
    parts = []
    for number, gang in enumerate(shown):
        y = TOP + number * row
        begin = axes.x(gang["submitted"])
        end = axes.x(gang["submitted"] + gang["waited"])
        waited = table.duration(gang["waited"])
        title = escape(f"{gang['name']}: {gang['gpus']} GPUs, waited {waited}")
        fill = colour(colours.get(gang["queue"], last))
        bars = "".join(
            f'<rect x="{axes.x(start)}" y="{y}" width="{max(1, axes.x(stop) - axes.x(start)):.1f}" '
            f'height="{row - 2}" fill="{fill}"/>'
            for start, stop in gang["runs"]
        )
        parts.append(
            f'<g><title>{title}</title><path class="ink" stroke-opacity=".5" '
            f'd="M{begin} {y + 3.5}H{end}"/>{bars}</g>'
        )
    steps = 6
    for step in range(steps + 1):
        value = axes.most_x * step / steps
        anchor = "end" if step == steps else "start" if step == 0 else "middle"
        text = escape(table.duration(value))
        parts.append(
            f'<text x="{axes.x(value)}" y="{height - 8}" text-anchor="{anchor}">{text}</text>'
        )
    return svg(height, "".join(parts))
