"""Law: every parser of a text returns, or raises the one error that it promises.

What it returns is within bounds that sums and comparisons count on.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings

from fuzz import damage
from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import (
    checkpoints,
    elastic,
    events,
    fields,
    gang_annotations,
    known_keys,
    topology,
)
from gang_scheduler.decode.pods import membership
from gang_scheduler.model import resources
from gang_scheduler.model.topology_request import LayerRef
from gang_scheduler.simulation import syntax
from gang_scheduler.wire.base import Metadata
from gang_scheduler.wire.pods import ContainerStatus
from support.thoroughness import cases

Errors = tuple[type[Exception], ...]
LONGEST = 4000
GREATEST_TIME = 10**16
"""Times and spans are added to each other as floats, which hold whole numbers below that."""


class Parser(NamedTuple):
    """A parser, the errors that it promises, and whether what it returned may be returned."""

    parse: Callable[[str], Any]
    errors: Errors = (InvalidField,)
    may_be: Callable[[Any], bool] = lambda _: True


def annotated(read: Callable[[dict[str, str]], Any], *found: str) -> Parser:
    """Return the parser of annotations, each of which gets the text."""
    return Parser(lambda text: read(dict.fromkeys(found, text)))


def pod(text: str) -> Any:
    status: Sequence[ContainerStatus] = ()
    return checkpoints.of_pod(dict.fromkeys(KEYS, text), status)


KEYS = sorted(known_keys.ANNOTATIONS)
PARSERS = {
    "quantity": Parser(
        lambda text: resources.amount_of("cpu", text),
        (ValueError,),
        lambda found: abs(found) < 2**63,
    ),
    "amounts": Parser(
        lambda text: fields.amounts({text: text, "memory": text}, "spec"),
        may_be=lambda found: all(0 <= each <= resources.ENORMOUS for each in found.values()),
    ),
    "duration": Parser(
        lambda text: fields.seconds(text, "x", or_zero=True),
        may_be=lambda found: 0 <= found < GREATEST_TIME,
    ),
    "time": Parser(fields.timestamp, may_be=lambda found: abs(found) < GREATEST_TIME),
    "declared run time": Parser(
        lambda text: fields.run_time(
            None, {annotations.KUEUE_MAX_EXEC_TIME: text}, {annotations.EXPECTED_DURATION: text}
        ),
        (),
    ),
    "whole number": Parser(
        lambda text: fields.whole_number({"k": text}, "k", None),
        may_be=lambda found: 1 <= found < 10**9,
    ),
    "label of a layer": Parser(
        lambda text: fields.label_layer("x", text),
        may_be=lambda found: isinstance(found, LayerRef),
    ),
    "JSON": Parser(lambda text: fields.read_json("x", text)),
    "JSON list": Parser(lambda text: fields.read_json("x", text).items(9)),
    "JSON object": Parser(lambda text: fields.read_json("x", text).fields("a", faults=Faults())),
    "options of a gang": annotated(gang_annotations.read, *KEYS),
    **{f"option {key}": annotated(gang_annotations.read, key) for key in KEYS},
    "minimum run time": annotated(gang_annotations.min_runtime, annotations.MIN_RUNTIME),
    "force delete": annotated(gang_annotations.force_delete, *KEYS),
    "roles": annotated(elastic.read_roles, annotations.ROLES),
    "elastic": annotated(elastic.elastic_of, annotations.ELASTIC),
    "checkpoint policy": annotated(checkpoints.policy_of, *KEYS),
    "request of a pod": annotated(topology.of_pod, *KEYS),
    "network-topology-spec": annotated(topology.network_topology_spec, *KEYS),
    "index": annotated(membership.index_of, *KEYS),
    **{
        f"podset {key}": Parser(
            lambda text, key=key: membership.podset_of(Metadata(name="p", annotations={key: text}))  # type: ignore[misc]
        )
        for key in sorted(annotations.PODSET_KEYS)
    },
    "checkpoint of a pod": Parser(pod, ()),
    "answer of a pod": Parser(
        lambda text: checkpoints.of_answer(text.encode("utf-8", "surrogatepass"), 1, "r"), ()
    ),
    "status of a PodGroup": Parser(
        lambda text: checkpoints.of_status({"checkpoint": {"doneAt": text, "step": text}}), ()
    ),
    "resource version": Parser(events.number_of, (), lambda found: isinstance(found, int)),
    "likeness of a key": Parser(known_keys.meant_by, (), lambda found: isinstance(found, str)),
    "YAML": Parser(lambda text: list(syntax.values(text)), (syntax.UnreadableText,)),
}


@pytest.mark.parametrize("name", PARSERS)
@given(text=damage.texts())
@settings(max_examples=cases(30, thorough=600))
def test_texts_are_read_or_refused(name: str, text: str) -> None:
    parser = PARSERS[name]
    found, why = outcome(parser, text)

    assert found is None or parser.may_be(found)
    assert not (isinstance(found, float) and math.isnan(found))
    assert len(why) < LONGEST


def outcome(parser: Parser, text: str) -> tuple[Any, str]:
    """Return what a parser returned; else None, and what it says to people."""
    try:
        return parser.parse(text), ""
    except parser.errors as error:
        return None, str(error) if isinstance(error, InvalidField) else ""
