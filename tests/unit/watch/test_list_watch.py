"""Lines come whole, however the network cuts them."""

from collections.abc import AsyncIterator

import pytest

from gang_scheduler.watch import list_watch


async def lines_of(*chunks: bytes) -> list[list[bytes]]:
    async def coming() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [whole async for whole in list_watch.read_lines(coming())]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([], []),
        ([b"a\nb\n"], [[b"a", b"b"]]),
        ([b"a\nb", b"c\n"], [[b"a"], [b"bc"]]),
        ([b"a", b"b", b"\n"], [[b"ab"]]),
        ([b"a\n", b"half"], [[b"a"]]),
        ([b"half"], []),
    ],
)
async def test_lines_are_whole_and_half_of_one_at_the_end_is_dropped(
    chunks: list[bytes], expected: list[list[bytes]]
) -> None:
    assert expected == await lines_of(*chunks)
