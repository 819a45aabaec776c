"""What is wrong with decisions on queues, each only where a case says what is expected."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance import queue_manifests
from conformance.queue_manifests import Case
from gang_scheduler.model.resources import parse_quantity

Decided = Mapping[str, Any]
"""The JSON of `simulate`."""
MILLI = 1000


def faults(case: Case, decided: Decided) -> Iterator[str]:
    """Yield what is not as expected, in words."""
    expected = case["expect"]
    for key, rows in (("admitted", "bindings"), ("nominated", "nominations")):
        if key in expected:
            yield from _unequal(
                key, sorted(map(_full, expected[key])), sorted(_gangs(decided, rows))
            )
    if "order" in expected:
        order = list(_gangs(decided, "bindings", "nominations"))
        yield from _unequal("order", [_full(each) for each in expected["order"]], order)
    yield from _waiting(expected.get("waiting", {}), decided)
    yield from _victims(expected, decided)
    yield from _of_gangs(expected, decided)
    shown = {row["queue"]: row for row in decided.get("queues", [])}
    for name, figures in expected.get("queues", {}).items():
        if name not in shown:
            yield f"queue {name} is not shown"
        else:
            yield from _figures(name, figures, shown[name])
    if "admissions" in expected:
        jobs = sorted(f"Job default/{each}" for each in expected["admissions"])
        yield from _unequal("admissions", jobs, sorted(e["object"] for e in decided["admissions"]))
    if "reservation" in expected:
        yield from _reservation(expected["reservation"], decided["reservations"])
    yield from _parts(case, decided)


def _full(name: str) -> str:
    return name if "/" in name else f"default/{name}"


def _gangs(decided: Decided, *lists: str) -> dict[str, None]:
    """Return the gangs that lists are about, in their order."""
    return dict.fromkeys(row["gang"] for key in lists for row in decided[key])


def _unequal(what: str, expected: object, found: object) -> Iterator[str]:
    if expected != found:
        yield f"{what}: {found} instead of {expected}"


def _victims(expected: Case, decided: Decided) -> Iterator[str]:
    rows = decided["victims"]
    found = sorted({row["gang"] for row in rows})
    if "victims" in expected or "victims_any" in expected:
        sets = expected.get("victims_any") or [expected["victims"]]
        wanted = [sorted(map(_full, each)) for each in sets]
        if found not in wanted:
            yield f"victims: {found} instead of {wanted}"
    if "victim_pods" in expected:
        yield from _unequal("evicted pods", expected["victim_pods"], len(rows))
    for name, wanted in expected.get("classes", {}).items():
        classes = {row.get("class") for row in rows if row["gang"] == _full(name)}
        yield from _unequal(f"classes of {name}", {wanted}, classes)


def _waiting(expected: Case, decided: Decided) -> Iterator[str]:
    reasons = {row["gang"]: row["reason"] for row in decided["unschedulable"]}
    for name, wanted in expected.items():
        found = reasons.get(_full(name))
        if found not in ([wanted] if isinstance(wanted, str) else wanted):
            yield f"{name} waits with {found} instead of {wanted}"


def _of_gangs(expected: Case, decided: Decided) -> Iterator[str]:
    rows = {row["gang"]: row for row in decided["gangs"]}
    bound = [row["gang"] for row in decided["bindings"]]
    for name, number in expected.get("scheduled", {}).items():
        yield from _unequal(f"members of {name}", number, bound.count(_full(name)))
    for name, borrows in expected.get("borrows", {}).items():
        yield from _unequal(f"{name} borrows", borrows, rows[_full(name)].get("borrows"))
    for name, wanted in expected.get("flavors", {}).items():
        podsets = rows[_full(name)].get("flavors", {})
        nested = all(isinstance(each, Mapping) for each in wanted.values())
        for podset, flavors in (wanted if nested else {"": wanted}).items():
            # A podset without a name is the only one.
            found: Case = podsets.get(podset) or next(iter(podsets.values()), {})
            chosen = {key: found.get(key) for key in flavors}
            yield from _unequal(f"flavors of {name} {podset}", flavors, chosen)


def _reservation(expected: Case | None, found: list[Case]) -> Iterator[str]:
    if expected is None:
        yield from _unequal("reservations", [], found)
        return
    wanted = {"gang": _full(expected["gang"]), "start": queue_manifests.at(expected["start"])}
    if "after" in expected:
        wanted["after"] = _full(expected["after"])
    shown = [{key: each[key] for key in wanted} for each in found]
    yield from _unequal("reservations", [wanted], shown)


def _figures(name: str, expected: Case, row: Case) -> Iterator[str]:
    for key, wanted in expected.items():
        if key == "pending":
            yield from _unequal(f"{name} {key}", [_full(each) for each in wanted], row[key])
        elif key == "share":
            same = None not in (wanted, row[key]) and abs(wanted - row[key]) < 2e-6
            if not same and wanted is not row[key]:
                yield f"{name} share: {row[key]} instead of {wanted}"
        elif isinstance(wanted, Mapping):
            for place, amount in wanted.items():
                flavor, resource = _place(place)
                found = _amount(row, key, flavor, resource)
                if abs(parse_quantity(amount, MILLI) - parse_quantity(found, MILLI)) > 1:
                    yield f"{name} {key} of {place}: {found} instead of {amount}"
        else:
            yield from _unequal(f"{name} {key}", wanted, row.get(key))


def _place(text: str) -> tuple[str, str]:
    """Return flavor and resource: names of resources have a slash of their own after a domain."""
    flavor, slash, resource = text.partition("/")
    return (flavor, resource) if slash and "." not in flavor else ("default", text)


def _amount(row: Case, key: str, flavor: str, resource: str) -> str:
    for each in row["resources"]:
        if (each["flavor"], each["resource"]) == (flavor, resource):
            return str(each[key])
    return "0"


def _parts(case: Case, decided: Decided) -> Iterator[str]:
    """Yield the gangs of which only a part that is no quorum is bound."""
    bound = [row["gang"] for row in decided["bindings"]]
    for gang in case["pending"]:
        name = _full(gang["gang"])
        members = sum(podset.get("pods", 1) for podset in gang.get("podsets", [gang]))
        if 0 < bound.count(name) < gang.get("min", members):
            yield f"only a part of {name} is bound"
