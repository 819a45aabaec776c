"""A replay as a table of 80 columns: a column for each policy, and its difference to the first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from gang_scheduler.model.wording import counted
from gang_scheduler.replay import document

WIDTH: Final = 80
MOST_ACROSS: Final = 3
"""How many policies fit next to each other; further ones get their own tables."""
LABEL: Final = 22
_UNITS: Final = ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))
Json = Mapping[str, Any]


def lines(found: Json) -> Iterator[str]:
    """Yield the lines of a document of kind Replay."""
    policies = found["policies"]
    trace = found["trace"]
    yield (
        f"{counted(trace['jobs'], 'job')} of {trace['form']}, {counted(trace['gangs'], 'gang')} "
        f"of several pods, submitted within {duration(trace['seconds'])}"
    )
    capacity = policies[0]["capacity"]
    yield f"{counted(found['nodes'], 'node')}, {number(capacity)} {unit(policies[0])}"
    for policy in policies:
        if not policy["complete"]:
            at = document.moment(found, policy["seconds"])
            yield f"{policy['name']}: interrupted: the figures are those up to {at}"
    first, others = policies[0], policies[1:]
    groups = [others[at : at + MOST_ACROSS - 1] for at in range(0, len(others), MOST_ACROSS - 1)]
    for group in groups or [[]]:
        yield ""
        yield from _table([first, *group])
    yield ""
    yield from _by_group(policies)


def _table(policies: Sequence[Json]) -> Iterator[str]:
    across = (WIDTH - LABEL) // len(policies)
    names = (shortened(policy["name"].upper(), across - 1) for policy in policies)
    yield f"{'':<{LABEL}}" + "".join(f"{name:>{across}}" for name in names)
    for label, path, shown in _rows(policies[0]):
        values = [document.value_at(policy, path) for policy in policies]
        cells = [shown(values[0])]
        cells += [_compared(each, values[0], shown, across) for each in values[1:]]
        yield (f"{label:<{LABEL}}" + "".join(f"{cell:>{across}}" for cell in cells)).rstrip()
    yield from _of_promises(policies, across)


def _rows(first: Json) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    name = unit(first)
    hours = f"{name[:-1]} h"
    yield "jobs finished", ("jobs", "finished"), number
    yield "still waiting", ("jobs", "waiting"), number
    for part in ("mean", "p50", "p90", "p99", "max"):
        yield f"wait {part}", ("wait", "all", part), duration
    yield "slowdown mean", ("slowdown", "mean"), decimal
    yield "makespan", ("makespan",), duration
    yield f"{name} in use", ("utilisation",), percent
    yield f"{name} doing work", ("goodput",), percent
    yield "idle while waiting", ("fragmentation",), percent
    yield "  of no use to any", ("fragmentationUnusable",), percent
    yield f"{hours} lost: evicted", ("hours", "lostToEvictions"), number
    yield f"{hours} lost: failed", ("hours", "lostToFailures"), number
    yield f"{hours} held in vain", ("hours", "heldWithoutWork"), number
    yield "gangs evicted", ("evictions", "gangs"), number
    yield "  more than once", ("evictions", "moreThanOnce"), number
    yield "unfair share", ("fairness", "deviation"), percent
    yield "Jain's index", ("fairness", "jain"), decimal
    yield "cycles", ("cycles", "all"), number


def _of_promises(policies: Sequence[Json], across: int) -> Iterator[str]:
    cells = []
    for policy in policies:
        promises = policy["promises"]
        cells.append(f"{promises['kept']} of {promises['made']}")
    label = "promised starts kept"
    yield (f"{label:<{LABEL}}" + "".join(f"{cell:>{across}}" for cell in cells)).rstrip()
    if any(policy["domainsPerGang"] is not None for policy in policies):
        known = (policy["domainsPerGang"] for policy in policies)
        found = ("-" if each is None else decimal(each) for each in known)
        yield (f"{'racks a gang':<{LABEL}}" + "".join(f"{cell:>{across}}" for cell in found))


def _by_group(policies: Sequence[Json]) -> Iterator[str]:
    """Yield the mean waits by queue, size and priority, a column a policy."""
    across = max(9, min(14, (WIDTH - LABEL - 8) // len(policies)))
    fitting = policies[: (WIDTH - LABEL - 8) // across]
    names = (shortened(policy["name"].upper(), across - 1) for policy in fitting)
    yield f"{'MEAN WAIT':<{LABEL}}{'JOBS':>8}" + "".join(f"{name:>{across}}" for name in names)
    for by, title in (("bySize", "GPUs"), ("byPriority", "priority"), ("byQueue", "queue")):
        groups = fitting[0]["wait"][by]
        if len(groups) < 2 and by != "bySize":
            continue
        for key, spread in groups.items():
            label = shortened(f"{title} {key}", LABEL - 1)
            waits = (policy["wait"][by].get(key, {"mean": 0})["mean"] for policy in fitting)
            cells = "".join(f"{duration(each):>{across}}" for each in waits)
            yield f"{label:<{LABEL}}{spread['jobs']:>8}{cells}"


def unit(policy: Json) -> str:
    """Return the unit of the figures: GPUs, or CPUs if no job has GPUs."""
    return "GPUs" if policy["resource"] == "gpu" else "CPUs"


def _compared(value: float, first: float, shown: Any, most: int) -> str:  # noqa: ANN401 - as below.
    """Return a value, and if there is room its difference to the first."""
    both = f"{shown(value)} {_difference(value - first, shown)}"
    return both if len(both) < most else shown(value)


def _difference(value: float, shown: Any) -> str:  # noqa: ANN401 - one of the functions below.
    text = shown(abs(value))
    if text == shown(0):
        return "(=)"
    return f"({'+' if value > 0 else '-'}{text})"


def shortened(text: str, most: int) -> str:
    """Return a text of this many characters at most."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def duration(seconds: float) -> str:
    """Return a time as people read it, in its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    size, larger, below, smaller = next(each for each in _UNITS if whole >= each[0])
    rest = whole % size // below
    return f"{whole // size}{larger}{rest}{smaller}" if rest else f"{whole // size}{larger}"


def number(value: float) -> str:
    """Return a whole number with thousands separators."""
    return f"{round(value):,}"


def decimal(value: float) -> str:
    """Return a number with two digits after the point."""
    return f"{value:,.2f}"


def percent(value: float) -> str:
    """Return a part as percent."""
    return f"{100 * value:.1f}%"
