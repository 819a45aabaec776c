"""What panels have in common: where their data is from, how they look, and what they are called."""

import json
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from grafana_foundation_sdk.builders import (
    common,
    dashboard,
    gauge,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    timeseries,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import heatmap as heatmaps
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
WIDTH_OF_ALL: Final = 24
HEIGHT: Final = 8
STEP: Final = "$__rate_interval"
QUEUE: Final = 'queue=~"$queue"'
"""The queues that are chosen above the panels."""

Query = tuple[str, str]
"""An expression, and the legend of its series."""
Steps = Sequence[tuple[float, str]]
"""From which value on a value has which colour; below the first one it is green."""


AnyPanel = timeseries.Panel | gauge.Panel | stat.Panel | statetimeline.Panel | heatmap.Panel
P = TypeVar("P", timeseries.Panel, gauge.Panel, stat.Panel, statetimeline.Panel)


def lines(title: str, about: str, *queries: Query, unit: str = "short") -> timeseries.Panel:
    """Return lines over time."""
    panel = _common(timeseries.Panel(), title, about, queries, unit)
    names = common.VizLegendOptions().show_legend(show_legend=True)
    names = names.display_mode(looks.LegendDisplayMode.LIST)
    names = names.placement(looks.LegendPlacement.BOTTOM)
    tooltip = common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI)
    return panel.legend(names).tooltip(tooltip).min(0).fill_opacity(10)


def stacked(title: str, about: str, *queries: Query, unit: str = "short") -> timeseries.Panel:
    """Return areas over time, each on top of the other."""
    stacking = common.StackingConfig().mode(looks.StackingMode.NORMAL)
    return lines(title, about, *queries, unit=unit).stacking(stacking).fill_opacity(40)


def bars(title: str, about: str, *queries: Query, unit: str = "short") -> timeseries.Panel:
    """Return bars over time: how often something happened in each step."""
    panel = stacked(title, about, *queries, unit=unit)
    return panel.draw_style(looks.GraphDrawStyle.BARS).fill_opacity(80)


def dial(title: str, about: str, query: Query, *, steps: Steps, most: float) -> gauge.Panel:
    """Return a number of seconds on a dial that ends at `most`."""
    panel = _common(gauge.Panel(), title, about, [query], "s")
    return panel.thresholds(_thresholds(steps)).min(0).max(most).reduce_options(_last())


def values(title: str, about: str, *queries: Query, unit: str = "short") -> stat.Panel:
    """Return values as they are now."""
    return _common(stat.Panel(), title, about, queries, unit).reduce_options(_last())


def states(
    title: str, about: str, *queries: Query, steps: Steps, unit: str = "short"
) -> statetimeline.Panel:
    """Return a bar for each series, coloured by its value over time."""
    panel = _common(statetimeline.Panel(), title, about, queries, unit)
    by_value = dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS)
    panel = panel.thresholds(_thresholds(steps)).color_scheme(by_value)
    return panel.merge_values(merge_values=True)


def distribution(title: str, about: str, query: Query, unit: str) -> heatmap.Panel:
    """Return how many values fell into each bucket over time."""
    panel = heatmap.Panel().title(title).description(about).datasource(SOURCE)
    target = _target(query, "A").format(PromQueryFormat.HEATMAP)
    colors = heatmap.HeatmapColorOptions().mode(heatmaps.HeatmapColorMode.SCHEME)
    panel = panel.with_target(target).color(colors.scheme("Blues").steps(64))
    axis = heatmap.YAxisConfig().unit(unit)
    return panel.calculate(calculate=False).y_axis(axis).show_tooltip()


def written(
    uid: str,
    title: str,
    about: str,
    variables: Iterable[Builder[models.VariableModel]],
    rows: Iterable[tuple[str, Sequence[AnyPanel]]],
) -> str:
    """Return the JSON of a dashboard. Its panels lie side by side, three at most."""
    made = dashboard.Dashboard(title).uid(uid).description(about).tags(["py-gang-scheduler"])
    made = made.time("now-6h", "now").refresh("1m").timezone("browser").editable()
    made = made.tooltip(models.DashboardCursorSync.CROSSHAIR)
    for variable in variables:
        made = made.with_variable(variable)
    for name, panels in rows:
        made = made.with_row(dashboard.Row(name))
        for panel in panels:
            made = made.with_panel(panel.span(_width(len(panels))).height(HEIGHT))
    built = made.build()
    for number, each in enumerate(built.panels or [], start=1):
        each.id_val = number
    return json.dumps(built, cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def data_source() -> Builder[models.VariableModel]:
    """Return the choice of a Prometheus."""
    return dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")


def queues() -> Builder[models.VariableModel]:
    """Return the choice of queues; at first all of them."""
    chosen = dashboard.QueryVariable("queue").label("Queue").datasource(SOURCE)
    chosen = chosen.query("label_values(training_job_queue_length, queue)").multi(multi=True)
    chosen = chosen.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    # Gangs without a queue have none in the label, which only this finds.
    everything = models.VariableOption(text="All", value="$__all")
    chosen = chosen.include_all(include_all=True).all_value(".*")
    return chosen.current(everything)


def quantile(part: float, metric: str, by: str = "", where: str = "", over: str = "1h") -> str:
    """Return the expression of a quantile of a histogram."""
    labels = ", ".join(filter(None, (by, "le")))
    rates = summed(f"rate({_selector(metric + '_bucket', where)}[{over}])", labels)
    return f"histogram_quantile({part:g}, {rates})"


def rise(metric: str, by: str = "", where: str = "", over: str = STEP) -> Query:
    """Return how much a counter rose, where it did. Its legend is the labels that it is by."""
    increase = f"increase({_selector(metric, where)}[{over}])"
    return f"{summed(increase, by)} > 0", legend(by)


def per_second(metric: str, by: str, where: str = "") -> Query:
    """Return the rate of a counter. Its legend is the labels that it is by."""
    return summed(f"rate({_selector(metric, where)}[{STEP}])", by), legend(by)


def summed(expression: str, by: str) -> str:
    """Return the sum of an expression by some labels, or of all of it."""
    return f"sum by ({by}) ({expression})" if by else f"sum({expression})"


def legend(by: str) -> str:
    """Return what Grafana makes of labels that are named with commas between them."""
    return " ".join(f"{{{{{each}}}}}" for each in by.split(", ") if each)


def _selector(metric: str, where: str) -> str:
    return f"{metric}{{{where}}}" if where else metric


def _common(panel: P, title: str, about: str, queries: Iterable[Query], unit: str) -> P:
    panel = panel.title(title).description(about).datasource(SOURCE).unit(unit)
    for letter, query in zip("ABCDEFGH", queries, strict=False):
        panel = panel.with_target(_target(query, letter))
    return panel


def _target(query: Query, letter: str) -> prometheus.Dataquery:
    expression, name = query
    made = prometheus.Dataquery().expr(expression).legend_format(name)
    return made.ref_id(letter).range()


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    first = models.Threshold(value=None, color="green")
    others = [models.Threshold(value=value, color=color) for value, color in steps]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps([first, *others])


def _last() -> common.ReduceDataOptions:
    return common.ReduceDataOptions().calcs(["lastNotNull"])


def _width(panels: int) -> int:
    return WIDTH_OF_ALL // min(panels, 3)
