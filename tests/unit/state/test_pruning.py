"""Records of what is gone."""

from gang_scheduler.state.pruning import MOST_GONE, pruned


def test_records_of_what_is_gone_are_dropped_once_they_are_more_than_the_others() -> None:
    records = dict.fromkeys(range(MOST_GONE + 20), "")

    assert records is pruned(records, range(10))
    assert dict.fromkeys(range(9), "") == pruned(records, range(9))
