"""Views of a dictionary are what it was at their moment, and know in what they differ."""

import random

import pytest

from gang_scheduler.model.changed_mapping import MOST_CHANGES, ChangedMapping, FollowedDict


def test_a_view_stays_as_it_was() -> None:
    followed: FollowedDict[int] = FollowedDict()
    followed.put("a", 1)
    followed.put("b", 2)
    view = followed.view()

    followed.put("a", None)
    followed.put("b", 3)
    followed.put("c", 4)

    assert {"a": 1, "b": 2} == dict(view)
    assert {"b": 3, "c": 4} == dict(followed.view())


def test_an_entry_that_is_gone_is_not_found() -> None:
    view = ChangedMapping({"a": 1, "b": 2}, {"a": None, "c": 3})

    assert (2, ["b", "c"]) == (len(view), list(view))
    assert ("a" in view, view.get("a"), view.get("a", 7), view.get("c")) == (False, None, 7, 3)
    with pytest.raises(KeyError):
        view["a"]


def test_views_that_have_nothing_in_common_do_not_know_in_what_they_differ() -> None:
    one, other = ChangedMapping({"a": 1}, {}), ChangedMapping({"a": 1}, {})

    assert one.differs_in(other) is None
    assert one.differs_in({"a": 1}) is None


@pytest.mark.parametrize("seed", range(5))
def test_views_in_a_row_say_in_what_they_differ(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - for cases, not for secrets.
    followed: FollowedDict[int] = FollowedDict()
    before, copied = followed.view(), dict(followed)
    for _ in range(60):
        for _ in range(dice.choice([0, 1, 5, MOST_CHANGES])):
            key = f"k{dice.randrange(2_000)}"
            followed.put(key, dice.choice([None, dice.randrange(9)]))
        view = followed.view()
        keys = view.differs_in(before)

        assert dict(view) == dict(followed)
        assert len(view) == len(followed)
        assert keys is not None
        assert {
            key for key in copied.keys() | followed.keys() if copied.get(key) != followed.get(key)
        } <= keys
        before, copied = view, dict(followed)
