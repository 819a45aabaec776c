"""Lists of long objects are read in pages of few."""

import pytest

from gang_scheduler.client import http
from gang_scheduler.client.errors import AnswerTooLongError
from gang_scheduler.client.list_pages import Pages


class Listing:
    """A list of objects of these lengths. `held` are the lengths of all answers."""

    def __init__(self, lengths: list[int]) -> None:
        self.held: list[int] = []
        self.asked = 0
        self._lengths = lengths

    async def whole(self, pages: Pages) -> int:
        """Return how many objects all pages have."""
        self._start = 0
        while self._start < len(self._lengths):
            self.held.append(len(await pages.get(self._page)))
            self._start += self._limit
        return min(self._start, len(self._lengths))

    async def _page(self, limit: int) -> bytes:
        self.asked += 1
        self._limit = limit
        length = sum(self._lengths[self._start : self._start + limit])
        if length > http.LARGEST_ANSWER:
            raise AnswerTooLongError("too long")
        return b"x" * length


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST_ANSWER", 32_000)


@pytest.mark.parametrize("before", [0, 700, 2000])
async def test_a_thousand_long_objects_are_all_read_and_no_answer_is_too_long(before: int) -> None:
    listing = Listing([10] * before + [1_000] * 990 + [10] * 2000)

    assert before + 2990 == await listing.whole(Pages(500))
    assert max(listing.held) <= http.LARGEST_ANSWER
    assert listing.asked < 990 / 8


async def test_short_objects_are_read_in_long_pages() -> None:
    listing = Listing([10] * 2000)

    await listing.whole(Pages(500))

    assert 4 == listing.asked


async def test_a_single_object_that_is_too_long_is_an_error() -> None:
    listing = Listing([40_000])

    with pytest.raises(AnswerTooLongError):
        await listing.whole(Pages(500))
