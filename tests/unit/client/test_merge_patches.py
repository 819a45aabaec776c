"""The smallest merge patches."""

from gang_scheduler.client import merge_patches


def test_maps_are_merged_and_lists_replaced() -> None:
    before = {"spec": {"suspend": True, "tolerations": [{"key": "a"}], "same": {"x": 1}}}
    after = {"spec": {"suspend": False, "tolerations": [{"key": "b"}], "same": {"x": 1}}}

    found = merge_patches.between(before, after)

    assert {"spec": {"suspend": False, "tolerations": [{"key": "b"}]}} == found


def test_what_goes_is_null_and_what_comes_is_whole() -> None:
    assert {"a": None, "b": {"c": {"d": 1}}} == merge_patches.between(
        {"a": {"x": 1}}, {"b": {"c": {"d": 1}}}
    )
