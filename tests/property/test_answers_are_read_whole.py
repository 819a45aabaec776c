"""Law: an answer of HTTP is the same in whatever pieces the network brings it."""

import itertools
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.client.http import Answer
from gang_scheduler.client.http1 import AnswerReader

HEADERS = st.dictionaries(
    st.from_regex(r"x-[a-z]{1,9}", fullmatch=True),
    st.from_regex(r"[a-zA-Z0-9;,=]{0,20}", fullmatch=True),
    max_size=4,
)
HINTS = st.sampled_from([b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"])
BODIES = st.lists(st.binary(max_size=60), max_size=4)
PLACES = st.lists(st.integers(0, 400), max_size=8)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, Answer]:
    """Return an answer as it is sent, and as it is meant."""
    status, headers = draw(st.integers(200, 599)), draw(HEADERS)
    sent, body = b"", b""
    if status not in {204, 304}:
        parts = draw(BODIES)
        body = b"".join(parts)
        framing, sent = chunked(parts) if draw(st.booleans()) else measured(body)
        headers |= framing
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} Some Words\r\n{lines}\r\n"
    meant = {name.encode(): value.encode() for name, value in headers.items()}
    answer = Answer(status, "Some Words", meant, body, lasts=True)
    return draw(HINTS) + head.encode() + sent, answer


def measured(body: bytes) -> tuple[dict[str, str], bytes]:
    """Announce the length."""
    return {"content-length": str(len(body))}, body


def chunked(parts: list[bytes]) -> tuple[dict[str, str], bytes]:
    """Announce the length of each part."""
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts if part)
    return {"transfer-encoding": "chunked"}, chunks + b"0\r\n\r\n"


def pieces(whole: bytes, places: list[int]) -> Iterable[bytes]:
    """Cut."""
    cuts = sorted({0, len(whole), *(place for place in places if place < len(whole))})
    return (whole[begin:end] for begin, end in itertools.pairwise(cuts))


@given(st.lists(answers(), max_size=3), PLACES)
def test_an_answer_is_the_same_in_any_pieces(
    answered: list[tuple[bytes, Answer]], places: list[int]
) -> None:
    reader = AnswerReader()
    for sent, expected in answered:
        *early, last = [reader.feed(piece) for piece in pieces(sent, places)]

        assert expected == last
        assert not any(early)
