"""A merge patch made of two documents makes the second of the first, and says nothing more."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.client import patches
from gang_scheduler.client.fake.cluster import merge

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.text("xy", max_size=1)
LISTS = st.lists(VALUES | st.dictionaries(KEYS, VALUES, max_size=2), max_size=2)
# A null in a map is absent, to the API server too; in a list it stays.
WHOLE = st.recursive(
    VALUES.filter(lambda it: it is not None) | LISTS,
    lambda below: st.dictionaries(KEYS, below, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, WHOLE, max_size=3)


@given(DOCUMENTS, DOCUMENTS)
def test_the_patch_makes_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert after == merge(before, patches.merge_patch(before, after))


@given(DOCUMENTS)
def test_nothing_is_said_of_what_stays(document: dict[str, Any]) -> None:
    assert {} == patches.merge_patch(document, document)


@given(DOCUMENTS, KEYS, VALUES.filter(lambda it: it is not None))
def test_only_what_changes_is_said(document: dict[str, Any], key: str, value: Any) -> None:
    assert set(patches.merge_patch(document, {**document, key: value})) <= {key}
