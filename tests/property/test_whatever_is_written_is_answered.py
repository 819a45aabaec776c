"""Law: `simulate` decides what it can read, and says of all else where it stands."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, output_document
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.run import Options, simulate
from property import corpus
from property.manifests import OURS
from property.mutants import mutants, written
from support.simulated_pages import page_of


@st.composite
def inputs(draw: st.DrawFn) -> str:
    """Return a text with one object of each kind, of which some are wrong."""
    found: list[Any] = list(corpus.ALL)
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, len(found) - 1))
        found[place] = draw(mutants(found[place]))
    return draw(st.sampled_from(["\n", "\n---\n"])).join(map(written, found))


def load(text: str) -> Objects | tuple[str, ...]:
    """Return what a text says, or why it cannot be read."""
    try:
        return objects.load(documents.parse("f", text), OURS)
    except UnreadableInput as error:
        return error.lines


@given(inputs())
def test_whatever_is_written_is_answered(text: str) -> None:
    found = load(text)

    if isinstance(found, tuple):
        assert found
        for line in found:
            assert line.startswith("f: document ")
            assert "\n" not in line
            assert line.encode()
    else:
        outcome = simulate(found, Options(Policy(scheduler_names=(OURS,))))
        document = output_document.document(outcome)
        assert json.dumps(document, ensure_ascii=False).encode()
        assert page_of(outcome).encode()
