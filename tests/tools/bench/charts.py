"""Results as SVG: how the bindings came over time, and the rates on all shapes.

The background is white and not transparent, so that they can be read on a dark page, too. Text
stays text, and the same results give the same bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tools.bench import tables
from tools.bench.results import Result
from tools.bench.shape import Shape

STYLE: Final[Mapping[str, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "py-gang-scheduler",
    # Both are as wide as each other, so that text takes the room that was reckoned for it.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "legend.frameon": False,
}
# Okabe and Ito's, which the colour-blind can tell apart: ours are blue, kube-scheduler is red.
COLOURS: Final[Mapping[str, str]] = {
    "ceiling": "#888888",
    "py-gang-scheduler": "#56b4e9",
    "py-gang-scheduler, reflector": "#0072b2",
    "kube-scheduler, no gangs": "#e69f00",
    "kube-scheduler, native gangs": "#d55e00",
}
OTHERWISE: Final = "#000000"
DASHED: Final = "ceiling"
INCHES: Final = 7.6
BAR_INCHES: Final = 0.17
"""How high a bar is, and the pause between two shapes."""
FRAME_INCHES: Final = 1.3
"""Title, axis and legend."""

DRAIN: Final = Shape()
ONE_GANG: Final = Shape(1, 5000)


def draw(results: Iterable[Result], directory: Path) -> list[Path]:
    """Write the pictures that there are results for, and return their paths."""
    found = tables.latest(results)
    bound = [each for each in found if each.curve]
    written = []
    directory.mkdir(parents=True, exist_ok=True)
    with style.context(dict(STYLE), after_reset=True):
        figures = {
            "drain.svg": _curves(_of(DRAIN, bound)),
            "one-gang.svg": _curves(_of(ONE_GANG, bound)),
            "rates.svg": _bars(found),
        }
        for path, figure in ((directory / name, each) for name, each in figures.items()):
            if figure is not None:
                figure.savefig(path, metadata={"Date": None, "Creator": None})
                written.append(path)
    return written


def _of(shape: Shape, results: Iterable[Result]) -> list[Result]:
    by_name = {each.contestant: each for each in results if each.shape == shape}
    return [by_name[name] for name in tables.in_order(by_name)]


def _curves(results: Sequence[Result]) -> Figure | None:
    """Draw pods bound over time: flat until the first binding, and then as they came."""
    if not results:
        return None
    figure = Figure(figsize=(INCHES, 3.6), layout="constrained")
    axes = figure.subplots()
    for each in results:
        _curve(axes, each)
    axes.set_title(_in_words(results[0].shape))
    axes.set_xlabel("seconds since the start of the scheduler")
    axes.set_ylabel("pods bound")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), labelspacing=1.2)
    return figure


def _curve(axes: Axes, result: Result) -> None:
    seconds, bound = zip((result.curve[0][0], 0), *result.curve, strict=True)
    axes.plot(
        (0, *seconds),
        (0, *bound),
        color=_colour(result.contestant),
        linestyle="--" if result.contestant == DASHED else "-",
        linewidth=2,
        clip_on=False,
        label=f"{result.contestant}\n{result.seconds_to_last:.1f} s",
    )


def _bars(results: Sequence[Result]) -> Figure | None:
    """Draw the rates, shape below shape, each with the contestants that ran on it."""
    if not results:
        return None
    shapes = list(dict.fromkeys(each.shape for each in results))
    height = BAR_INCHES * (len(results) + len(shapes))
    figure = Figure(figsize=(INCHES, FRAME_INCHES + height), layout="constrained")
    axes = figure.subplots()
    middles, row = [], 0
    for shape in shapes:
        bars = _of(shape, results)
        _group(axes, row, bars)
        middles.append(row + (len(bars) - 1) / 2)
        row += len(bars) + 1
    axes.set_title("Pods bound a second (drain where nothing is said)")
    axes.set_xlabel("pods/s between the first and the last binding")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_yticks(middles, [tables.title(shape) for shape in shapes])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(row - 1, -1)
    axes.margins(x=0.1)
    names = tables.in_order(each.contestant for each in results)
    figure.legend(
        handles=[Patch(color=_colour(name), label=name) for name in names],
        loc="outside lower center",
        ncols=3,
    )
    return figure


def _group(axes: Axes, row: int, bars: Sequence[Result]) -> None:
    drawn = axes.barh(
        range(row, row + len(bars)),
        [each.pods_per_second for each in bars],
        height=0.8,
        color=[_colour(each.contestant) for each in bars],
    )
    axes.bar_label(drawn, fmt="{:,.0f}", padding=3, fontsize=8)


def _in_words(shape: Shape) -> str:
    gangs = "1 gang" if shape.gangs == 1 else f"{shape.gangs:,} gangs"
    return f"{gangs} of {shape.size:,} pods on {shape.nodes:,} nodes, all there at the start"


def _colour(contestant: str) -> str:
    return COLOURS.get(contestant, OTHERWISE)
