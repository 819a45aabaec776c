"""A replay as one HTML file: it loads nothing from other hosts, is light or dark, and prints.

Open `page` first. The pictures are in `charts`.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from gang_scheduler.model.wording import counted
from gang_scheduler.replay import charts, document, table

Json = Mapping[str, Any]

STYLE: Final = """
:root{color-scheme:light dark;
--paper:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--band:#f6f8fa;
--good:#1a7f37;--bad:#b3261e;--c0:#0072b2;--c1:#d55e00;--c2:#009e73;
--c3:#cc79a7;--c4:#8a6d00;--c5:#56b4e9;--c6:#7a5195;--c7:#6b6b6b}
@media (prefers-color-scheme:dark){:root{
--paper:#0d1117;--ink:#e6edf3;--soft:#9da7b3;--line:#30363d;
--band:#161b22;--good:#56d364;--bad:#ff7b72;
--c0:#58a6ff;--c1:#ff9e64;--c2:#3fd6a3;--c3:#f0a6cf;--c4:#e3c54a;
--c5:#7fd0ff;--c6:#c297ff;--c7:#a8a8a8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.5rem;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}
p{margin:.25rem 0;color:var(--soft);max-width:60rem}p.warn{color:var(--bad)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}thead th{background:var(--band)}
td small{color:var(--soft)}td small.good{color:var(--good)}td small.bad{color:var(--bad)}
figure{margin:1rem 0 0;break-inside:avoid}figcaption{color:var(--soft);font-size:.9rem}
svg{display:block;width:100%;height:auto}svg text{fill:var(--soft);font:11px system-ui,sans-serif}
svg .grid{stroke:var(--line);stroke-width:1}svg .ink{stroke:var(--ink)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;margin:.3rem 0}
.legend i{display:inline-block;width:.8em;height:.8em;border-radius:2px;
margin-right:.35em;vertical-align:-1px}
details{margin:.5rem 0}summary{cursor:pointer}
@media print{:root{color-scheme:light;--paper:#fff;--ink:#000;--soft:#333;--line:#bbb;--band:#eee;
--good:#1a7f37;--bad:#b3261e;--c0:#0072b2;--c1:#d55e00;--c2:#009e73;
--c3:#cc79a7;--c4:#8a6d00;--c5:#56b4e9;--c6:#7a5195;--c7:#6b6b6b}
body{max-width:none;padding:0;font-size:10pt}th,td{padding:.15rem .35rem;font-size:8.5pt}
h2,summary{break-after:avoid}table{break-inside:avoid}details::details-content{content-visibility:visible;block-size:auto}
svg text{font-size:10px}@page{margin:14mm}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""
FIGURES: Final = (
    ("Jobs finished", ("jobs", "finished"), table.number, 1),
    ("Still waiting", ("jobs", "waiting"), table.number, -1),
    ("Wait, mean", ("wait", "all", "mean"), table.duration, -1),
    ("Wait, half of the jobs", ("wait", "all", "p50"), table.duration, -1),
    ("Wait, 90 % of the jobs", ("wait", "all", "p90"), table.duration, -1),
    ("Wait, 99 % of the jobs", ("wait", "all", "p99"), table.duration, -1),
    ("Longest wait", ("wait", "all", "max"), table.duration, -1),
    ("Slowdown, mean", ("slowdown", "mean"), table.decimal, -1),
    ("Makespan", ("makespan",), table.duration, -1),
    ("In use", ("utilisation",), table.percent, 1),
    ("Doing work that counts", ("goodput",), table.percent, 1),
    ("Idle while a gang waits", ("fragmentation",), table.percent, -1),
    ("… of no use to any gang", ("fragmentationUnusable",), table.percent, -1),
    ("{unit} hours lost to evictions", ("hours", "lostToEvictions"), table.number, -1),
    ("{unit} hours lost to failed nodes", ("hours", "lostToFailures"), table.number, -1),
    (
        "{unit} hours held by gangs that could not begin",
        ("hours", "heldWithoutWork"),
        table.number,
        -1,
    ),
    ("Gangs evicted", ("evictions", "gangs"), table.number, -1),
    ("… more than once", ("evictions", "moreThanOnce"), table.number, -1),
    ("With the wrong queue (unfair share)", ("fairness", "deviation"), table.percent, -1),
    ("Jain's index of fairness", ("fairness", "jain"), table.decimal, 1),
    ("Promised starts that were missed", ("promises", "missed"), table.number, -1),
)
"""The name of a row, the path of its value, its format, and 1 if more is better, else -1.

`{unit}` in a name is GPU or CPU.
"""


def page(found: Json) -> str:
    """Return the report of a document of kind Replay."""
    return "".join(_parts(found))


def _parts(found: Json) -> Iterator[str]:
    policies = found["policies"]
    names = ", ".join(policy["name"] for policy in policies)
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    yield f"<title>Replay: {escape(names)}</title><style>{STYLE}</style></head><body>\n"
    yield from _head(found)
    yield "<h2>Policies compared</h2>"
    yield from _figures(policies)
    yield "<h2>Waits</h2>"
    yield charts.figure(
        "Part of the jobs that waited no longer than the time below", charts.waits(policies)
    )
    yield charts.legend([policy["name"] for policy in policies])
    yield from _by_group(policies)
    yield charts.figure(
        "Wait by queue: from the median to 90 %, a dot for the mean and a line to 99 %",
        charts.boxes(policies),
    )
    yield f"<h2>{table.unit(policies[0])} in use by queue, and what waits above</h2>"
    queues = charts.queues_of(policies[0])
    for policy in policies:
        yield charts.figure(policy["name"], charts.usage(policy, queues))
    yield charts.legend(queues, waits=True)
    yield "<h2>Fairness</h2>"
    yield charts.figure(
        "Part of the cluster that is with the wrong queue, over time", charts.unfairness(policies)
    )
    yield charts.legend([policy["name"] for policy in policies])
    yield f"<h2>The {len(policies[0]['largest'])} largest gangs</h2>"
    for number, policy in enumerate(policies):
        shown = " open" if number == 0 else ""
        yield f"<details{shown}><summary>{escape(policy['name'])}</summary>"
        yield charts.figure("Thin: it waits. Thick: it runs.", charts.gantt(policy, queues))
        yield charts.legend(queues)
        yield "</details>"
    yield from _reading(policies)
    yield "</body></html>\n"


def _head(found: Json) -> Iterator[str]:
    trace, first = found["trace"], found["policies"][0]
    yield "<header><h1>What other policies would have meant</h1><p>"
    yield (
        f"{trace['jobs']:,} jobs from {escape(trace['form'])}, {trace['gangs']:,} of them gangs of "
        f"several pods, submitted within {table.duration(trace['seconds'])}"
    )
    if trace["begin"]:
        yield f" from {escape(document.moment(found, 0))}"
    yield (
        f". {counted(found['nodes'], 'node')} with {table.number(first['capacity'])} "
        f"{table.unit(first)}.</p>"
    )
    for policy in found["policies"]:
        if not policy["complete"]:
            at = document.moment(found, policy["seconds"])
            yield (
                f'<p class="warn">{escape(policy["name"])} was interrupted: its figures are those '
                f"up to {escape(at)}.</p>"
            )
    yield "</header>"


def _figures(policies: Sequence[Json]) -> Iterator[str]:
    yield '<div class="wide"><table><thead><tr><th></th>'
    yield from (f"<th>{escape(policy['name'])}</th>" for policy in policies)
    yield "</tr></thead><tbody>"
    unit = table.unit(policies[0])[:-1]
    for name, path, shown, better in FIGURES:
        values = [document.value_at(policy, path) for policy in policies]
        if not any(values):
            continue
        yield f"<tr><td>{escape(name.format(unit=unit))}</td><td>{shown(values[0])}</td>"
        for value in values[1:]:
            yield f"<td>{shown(value)} {_difference(value - values[0], shown, better)}</td>"
        yield "</tr>"
    yield "</tbody></table></div>"


def _difference(value: float, shown: Any, better: int) -> str:  # noqa: ANN401 - writes a number.
    text = shown(abs(value))
    if text == shown(0):
        return "<small>=</small>"
    word = "good" if value * better > 0 else "bad"
    return f'<small class="{word}">{"+" if value > 0 else "&minus;"}{text}</small>'


def _by_group(policies: Sequence[Json]) -> Iterator[str]:
    titles = (("bySize", "GPUs"), ("byPriority", "priority"), ("byQueue", "queue"))
    for by, title in titles:
        groups = policies[0]["wait"][by]
        if len(groups) == 1 and by != "bySize":
            continue
        is_open = " open" if len(groups) <= charts.MOST_COLOURS else ""
        yield f"<details{is_open}><summary>Mean wait by {title}</summary>"
        yield f'<div class="wide"><table><thead><tr><th>{title}</th><th>Jobs</th>'
        yield from (f"<th>{escape(policy['name'])}</th>" for policy in policies)
        yield "</tr></thead><tbody>"
        for key, spread in groups.items():
            yield f"<tr><td>{escape(key)}</td><td>{spread['jobs']:,}</td>"
            for policy in policies:
                mean = policy["wait"][by].get(key, {"mean": 0})["mean"]
                yield f"<td>{table.duration(mean)}</td>"
            yield "</tr>"
        yield "</tbody></table></div></details>"


def _reading(policies: Sequence[Json]) -> Iterator[str]:
    """Yield the section that explains the words of the report."""
    yield "<h2>How to read this</h2>"
    yield (
        "<p>Each job was submitted again at its time, with the size and the run time of the file. "
        "The scheduler knew the limits that users declared, not the run times. Small numbers next "
        f"to a value are the difference to {escape(policies[0]['name'])}.</p>"
        "<p>Waits last from the submission to the first start, and for jobs that still wait to the "
        "end of the replay. The slowdown is the time from the submission to the end, divided by "
        "the run time, or by ten minutes for shorter jobs. A queue has the wrong share as far as "
        "an equal division among the queues that ask for something would give it more or less."
        "</p>"
    )
