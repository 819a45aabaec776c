"""Law: whatever a server sends, the reader makes of it an answer, an error, or waits for more.

The answer is the same in whatever pieces the bytes come, and holds nothing that was not sent.
"""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from gang_scheduler.client.http import Answer, BrokenError
from gang_scheduler.client.http1 import AnswerReader

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
STARTS = (
    *(OK, OK, b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 204\r\n", b"HTTP/1.1 304 Not Modified\r\n"),
    *(b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"HTTP/1.1 101 Switching Protocols\r\n"),
    *(b"HTTP/1.1 599 \xff\r\n", b"HTTP/1.1 99 Low\r\n", b"HTTP/2.0 200 OK\r\n", b"\r\n" + OK),
)
HEADERS = (
    *(b"Content-Length: 3\r\n", b"Content-Length: 0\r\n", b"Content-Length: -1\r\n"),
    *(b"Content-Length: 18446744073709551616\r\n", b"content-length:3\r\n", b"Content-Length:\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"X: y\r\n"),
    *(b"Connection: close\r\n", b"Connection: upgrade\r\nUpgrade: x\r\n", b"A: b\r\n c\r\n"),
)
BODIES = (
    *(b"abc", b"{}", b"\xff\xfe", b"\r\n", b"\0", b"0\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n"),
    *(b"3;x=y\r\nabc\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"0\r\nTrailer: x\r\n\r\n", OK),
)


def parts(of: tuple[bytes, ...], most: int) -> st.SearchStrategy[bytes]:
    """Return some of these, one after the other."""
    return st.lists(st.sampled_from(of), max_size=most).map(b"".join)


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Return something with a few bytes in another's stead."""
    sent = draw(whole)
    begin = draw(st.integers(0, len(sent)))
    return sent[:begin] + draw(st.binary(max_size=4)) + sent[begin + draw(st.integers(0, 4)) :]


ANSWERS = st.tuples(
    st.sampled_from(STARTS), parts(HEADERS, 2), st.just(b"\r\n"), parts(BODIES, 3)
).map(b"".join)
SENT = ANSWERS | damaged(ANSWERS) | parts(STARTS + HEADERS + BODIES, 9)
PLACES = st.lists(st.integers(0, 200), max_size=6)

Outcome = Answer | str | None
"""An answer, what is wrong, or None: more must come."""


def outcome(sent: bytes, places: list[int], *, ends: bool) -> Outcome:
    """Return what a reader makes of bytes that come in pieces."""
    reader = AnswerReader()
    cuts = sorted({0, len(sent), *(place for place in places if place < len(sent))})
    try:
        for begin, end in itertools.pairwise(cuts):
            answer = reader.feed(sent[begin:end])
            if answer is not None:
                # What follows in the same piece is known of sooner than what comes later.
                return answer._replace(lasts=False)
    except BrokenError:
        return "broken"
    return reader.end() if ends else None


@given(SENT, PLACES)
@example(OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", [])
@example(OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [])
@example(CHUNKED + b"0\r\nTrailer: x\r\n\r\n" + OK, [20, 60])
@example(OK + b"\r\nabc", [17, 20])
@example(b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", [])
@example(b"\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n", [1])
def test_any_bytes_are_an_answer_or_an_error(sent: bytes, places: list[int]) -> None:
    for ends in (False, True):
        whole = outcome(sent, [], ends=ends)

        assert whole == outcome(sent, places, ends=ends)
        if isinstance(whole, Answer):
            assert 200 <= whole.status <= 999
            assert len(whole.body) <= len(sent)
            assert all(value in sent for value in whole.headers.values())


@given(SENT, st.binary(max_size=20))
def test_what_follows_an_answer_is_never_part_of_it(sent: bytes, surplus: bytes) -> None:
    reader = AnswerReader()
    try:
        answer = reader.feed(sent)
        followed = AnswerReader().feed(sent + surplus)
    except BrokenError:
        return

    if answer is not None:
        assert followed is not None
        assert answer[:4] == followed[:4]
