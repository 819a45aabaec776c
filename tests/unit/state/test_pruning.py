"""Records of what is gone, and what was told already."""

from gang_scheduler.state.pruning import MOST_GONE, Reported, pruned


def test_records_of_what_is_gone_are_dropped_once_they_are_more_than_the_others() -> None:
    records = dict.fromkeys(range(MOST_GONE + 20), "")

    assert records is pruned(records, range(10))
    assert dict.fromkeys(range(9), "") == pruned(records, range(9))


def test_the_same_words_are_news_once() -> None:
    told: Reported[str, str] = Reported()

    found = [told.is_news(*each) for each in (("a", "x"), ("a", "x"), ("b", "x"), ("a", "y"))]

    assert [True, False, True, True] == found


def test_what_is_forgotten_is_news_again() -> None:
    told: Reported[str, str] = Reported()
    for key in ("a", "b"):
        told.is_news(key, "x")

    assert (True, False) == (told.forget("a"), told.forget("a"))
    told.keep({"c"})

    assert 0 == len(told)
    assert told.is_news("b", "x")


def test_subjects_that_are_gone_are_forgotten_once_they_are_many() -> None:
    told: Reported[int, str] = Reported()
    for key in range(MOST_GONE + 20):
        told.is_news(key, "x")

    told.prune(range(10))
    assert MOST_GONE + 20 == len(told)
    told.prune(range(9))
    assert 9 == len(told)
