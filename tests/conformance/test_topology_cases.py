"""The worked cases of Kueue's topology-aware scheduling, each in both ways to write it."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from conformance import simulated, topology_manifests, verdicts
from conformance.topology_manifests import Case
from support import yaml_texts

FILE = Path(__file__).parent / "topology-cases.yaml"
CASES: list[Case] = yaml_texts.read(FILE.read_text())["cases"]

EXCEPTIONS: dict[str, str] = {}
"""Cases in which we differ on purpose, with the reason."""


WAYS = {"as-jobs": False, "as-pods": True}


def cases() -> Iterator[Any]:
    for case, (way, bare) in product(CASES, WAYS.items()):
        if bare or "replace" not in case:
            reason = EXCEPTIONS.get(case["id"])
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            yield pytest.param(case, bare, id=f"{case['id']}-{way}", marks=marks)


@pytest.mark.parametrize(("case", "bare"), [*cases()])
def test_case(case: Case, *, bare: bool) -> None:
    outcome = simulated.decide(topology_manifests.manifests(case, bare=bare))

    assert [] == [*verdicts.faults(case, outcome, bare=bare)]


def test_every_exception_is_a_case() -> None:
    assert set(EXCEPTIONS) <= {case["id"] for case in CASES}
