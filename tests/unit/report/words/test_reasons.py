"""Every reason that the code gives has an entry, and no entry is of another one."""

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import gang_scheduler
from gang_scheduler.apply import disruption_target
from gang_scheduler.model.causes.queues import Inactivity
from gang_scheduler.model.consequences import GangEvent, Rule
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.failures import DegradedReason
from gang_scheduler.model.reasons import HELD, RULES, Reason
from gang_scheduler.report import checkpoints as report_checkpoints
from gang_scheduler.report import gang_events, topology_status, workload_events
from gang_scheduler.report.pod_group_status import WARNINGS
from gang_scheduler.report.words import messages
from gang_scheduler.report.words import reasons as word_reasons
from gang_scheduler.report.words.reasons import Entry

PACKAGE = Path(gang_scheduler.__file__).parent
OF_QUEUES = {"report/queues/status.py"}
OF_TOPOLOGIES = {"report/topology_status.py"}
SCHEDULER = PACKAGE / "scheduler"
OF_CONDITIONS = {"Finding"}
OF_EVENTS = {"record", "_scaled", "event_of"}
WAITS = {each.value for each in Reason}
RIGHTS = {each.shown for each in EvictionClass}


@cache
def every_call() -> list[tuple[str, ast.Call]]:
    """Return each call of a function or method that may give a reason, with its file."""
    names = OF_CONDITIONS | OF_EVENTS
    files = [path for path in sorted(PACKAGE.rglob("*.py")) if SCHEDULER not in path.parents]
    return [
        (str(path.relative_to(PACKAGE)), node)
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and _name(node.func) in names
    ]


def calls(names: set[str]) -> Iterator[tuple[str, ast.Call, ModuleType]]:
    """Yield each call of a function or method of such a name, with its file and module."""
    for file, node in every_call():
        if _name(node.func) in names:
            dotted = file.removesuffix(".py").replace("/", ".")
            yield file, node, importlib.import_module(f"gang_scheduler.{dotted}")


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def words(node: ast.expr | None, module: ModuleType) -> set[str]:
    """Return the text, or the texts, that an expression stands for; none if only a run tells."""
    if node is None or isinstance(node, ast.Starred):
        return set()
    if isinstance(node, ast.IfExp):
        return words(node.body, module) | words(node.orelse, module)
    try:
        value = eval(ast.unparse(node), vars(module))  # noqa: S307 - our own source.
    except (NameError, AttributeError):
        return set()
    return {str(value)} if isinstance(value, str) else set()


def findings() -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield the file, type and reason of each condition that is made."""
    for file, call, module in calls(OF_CONDITIONS):
        reason = next((each.value for each in call.keywords if each.arg == "reason"), None)
        yield file, words(call.args[0], module), words(reason, module)


def found(files: set[str] | None = None) -> tuple[set[str], set[str]]:
    """Return the types and reasons of conditions in some files; None: in all others."""
    types, reasons = set[str](), set[str]()
    for file, kinds, why in findings():
        if (file in files) if files else file not in OF_QUEUES | OF_TOPOLOGIES:
            types |= kinds
            reasons |= why
    return types, reasons


def test_conditions_of_pod_groups_and_their_reasons_have_entries() -> None:
    types, reasons = found()

    assert types | {each.value for each in WARNINGS} == word_reasons.TYPES.keys()
    lacks = {each.value for each in DegradedReason} | {disruption_target.DEGRADED}
    written = reasons - WAITS | RIGHTS | lacks | {"Resolved"}
    assert written == word_reasons.REASONS.keys()


def test_conditions_of_queues_and_their_reasons_have_entries() -> None:
    types, reasons = found(OF_QUEUES)

    assert types == word_reasons.QUEUE_TYPES.keys()
    inactive = {each.value for each in Inactivity} - WAITS
    assert reasons | inactive == word_reasons.QUEUE_REASONS.keys()


def test_conditions_of_topologies_and_their_reasons_have_entries() -> None:
    types, reasons = found(OF_TOPOLOGIES)

    assert types == word_reasons.TOPOLOGY_TYPES.keys()
    in_use = {topology_status.IN_USE, topology_status.EXCLUDED_NODES}
    assert reasons | in_use == word_reasons.TOPOLOGY_REASONS.keys()


def test_reasons_of_events_have_entries() -> None:
    written = {each.value for each in GangEvent if each.value}
    for _, call, module in calls(OF_EVENTS):
        position = 2 if _name(call.func) == "_scaled" else 1
        if len(call.args) > position:
            written |= words(call.args[position], module)
    named = {gang_events.WAITING_FOR_ROOM}
    of_queues = {"WithoutEffect", "UnknownName", "ReservationMade", "ReservationMoved"}
    warned = {each.value for each in WARNINGS} | {Reason.INVALID_SPEC.value}
    checkpoints = {report_checkpoints.REQUESTED, *report_checkpoints.EVENTS.values()}
    scaled = {messages.SCALED_UP, messages.SCALED_DOWN}
    bought = {each.reason for each in workload_events.EVENTS.values()}
    topologies = set(topology_status.WORTH_AN_EVENT)
    others = named | of_queues | warned | scaled | bought | topologies | checkpoints
    others |= {each.value for each in HELD}

    assert written | others == word_reasons.ENTRIES.keys()


@pytest.mark.parametrize(
    "entries",
    [
        *(RULES, word_reasons.TYPES, word_reasons.REASONS, word_reasons.QUEUE_TYPES),
        *(word_reasons.QUEUE_REASONS, word_reasons.TOPOLOGY_TYPES),
        *(word_reasons.TOPOLOGY_REASONS, word_reasons.ENTRIES),
    ],
)
def test_an_entry_says_whose_turn_it_is(entries: dict[str, Entry | Rule]) -> None:
    for name, entry in entries.items():
        assert entry.meaning.endswith("."), name
        assert not entry.do or entry.do.endswith("."), name
        assert entry.fixers, name


def test_the_text_of_a_gang_that_waits_for_action_says_which_action() -> None:
    assert [] == [reason for reason, rule in RULES.items() if not rule.do]
