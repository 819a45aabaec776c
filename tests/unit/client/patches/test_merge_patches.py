"""The smallest merge patches."""

from gang_scheduler.client import patches


def test_maps_are_merged_and_lists_replaced() -> None:
    before = {"spec": {"suspend": True, "tolerations": [{"key": "a"}], "same": {"x": 1}}}
    after = {"spec": {"suspend": False, "tolerations": [{"key": "b"}], "same": {"x": 1}}}

    found = patches.merge_patch(before, after)

    assert {"spec": {"suspend": False, "tolerations": [{"key": "b"}]}} == found


def test_what_goes_is_null_and_what_comes_is_whole() -> None:
    assert {"a": None, "b": {"c": {"d": 1}}} == patches.merge_patch(
        {"a": {"x": 1}}, {"b": {"c": {"d": 1}}}
    )
