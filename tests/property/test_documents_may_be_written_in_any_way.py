"""Law: what is decided depends on the objects, not on how many documents say them, nor how."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, output_document
from gang_scheduler.simulation.run import Options, simulate
from property.manifests import OURS, Manifest, clusters

SKIPPED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def decided(*texts: str) -> dict[str, Any]:
    """Return the decisions for these files."""
    read = itertools.chain.from_iterable(
        documents.parse(f"f{i}", text) for i, text in enumerate(texts)
    )
    return output_document.document(
        simulate(objects.load(read, OURS), Options(Policy(scheduler_names=(OURS,))))
    )


def as_json(manifests: Sequence[Manifest]) -> str:
    return "\n".join(json.dumps(each) for each in manifests)


def with_others(manifests: Sequence[Manifest], numbers: Sequence[int]) -> Iterator[Manifest]:
    """Yield the manifests, and some that have nothing to do with them between."""
    for i, (each, number) in enumerate(zip(manifests, itertools.cycle(numbers), strict=False)):
        yield from (SKIPPED for _ in range(number % 3))
        for j in range(number):
            name = f"space-{i}-{j}"
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        yield each


@given(clusters(), st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_other_objects_change_nothing(manifests: list[Manifest], numbers: list[int]) -> None:
    crowded = list(with_others(manifests, numbers))

    assert decided(as_json(manifests)) == decided(as_json(crowded))


@given(clusters(), st.integers(0, 30))
def test_the_same_is_decided_of_lists_files_and_yaml(manifests: list[Manifest], cut: int) -> None:
    expected = decided(as_json(manifests))

    listed = {"apiVersion": "v1", "kind": "List", "items": manifests}
    assert expected == decided(json.dumps(listed))
    assert expected == decided(yaml.safe_dump_all(manifests))
    assert expected == decided(
        as_json(manifests[:cut]), yaml.safe_dump(listed | {"items": manifests[cut:]})
    )
