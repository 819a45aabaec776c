"""Assembles answers from the bytes of a connection, however they are cut. No I/O."""

import httptools

from gang_scheduler.client.http import Answer, BrokenError

HTTP_ERRORS = (httptools.HttpParserError, httptools.HttpParserUpgrade)
FRAMED = {b"content-length", b"transfer-encoding"}
"""The headers that say where a body ends. Without them, the body ends with the connection."""


class AnswerReader:
    """Reads the answers of one connection, one after the other. Implements httptools' callbacks."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._answer: Answer | None = None
        self._is_open_ended = False
        self._has_surplus = False
        self._reason = b""
        self._headers: dict[bytes, bytes] = {}
        self._parts: list[bytes] = []

    def feed(self, received: bytes) -> Answer | None:
        """Take in the next bytes, and return the answer that they complete, if they do.

        Raises BrokenError if the bytes are not HTTP.
        """
        try:
            self._parser.feed_data(received)
        except HTTP_ERRORS as error:
            if self._answer is None:
                raise BrokenError(f"the answer is no HTTP: {error}") from error
            self._has_surplus = True
        answer, self._answer = self._answer, None
        # Bytes after an answer would be taken for the next answer.
        return answer._replace(lasts=False) if answer and self._has_surplus else answer

    def end(self) -> Answer | None:
        """Return the answer that the regular end of the connection completes, if one is open."""
        return self._whole(lasts=False) if self._is_open_ended else None

    def on_message_begin(self) -> None:
        """Start over. A second answer at once is surplus."""
        self._has_surplus = self._answer is not None
        self._reason = b""
        self._headers = {}
        self._parts = []

    def on_status(self, reason: bytes) -> None:
        """Keep the reason beside the status: it may come in pieces."""
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Find out how the body will end."""
        self._is_open_ended = self._headers.keys().isdisjoint(FRAMED)

    def on_body(self, part: bytes) -> None:
        """Keep a part of the body."""
        self._parts.append(part)

    def on_message_complete(self) -> None:
        """Keep the answer, unless it is informational (1xx) and another one follows."""
        self._is_open_ended = False
        if self._answer is None and self._parser.get_status_code() >= 200:
            self._answer = self._whole(lasts=self._parser.should_keep_alive())

    def _whole(self, *, lasts: bool) -> Answer:
        reason = self._reason.decode(errors="replace")
        status = self._parser.get_status_code()
        return Answer(status, reason, self._headers, b"".join(self._parts), lasts)
