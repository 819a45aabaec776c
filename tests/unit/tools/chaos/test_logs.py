"""Which tracebacks in logs are unexpected."""

from tools.chaos import logs

OF_KOPF = '{"exception": "Traceback (most recent", "logger": "kopf._core.reactor.running"}'
OF_A_LIBRARY = '{"event": "x has failed: y", "exception": "Traceback (most", "logger": "asyncio"}'
OF_OURS = '{"event": "any", "exception": "Traceback (most recent call last)"}'
CRASH = [
    "  + Exception Group Traceback (most recent call last):",
    "    | Traceback",
    "    | {end}: why",
]


def crash(end: str) -> list[str]:
    return [line.replace("{end}", end) for line in CRASH]


def test_an_error_of_ours_is_unexpected_and_the_end_of_kopf_is_not() -> None:
    lines = ["{}", OF_KOPF, OF_OURS, OF_A_LIBRARY, OF_KOPF[:-1], "{}"]

    assert [OF_OURS, OF_A_LIBRARY, OF_KOPF[:-1]] == list(logs.unexpected(lines))


def test_a_crash_is_unexpected_as_a_whole() -> None:
    lines = ["{}", *crash("ValueError")]

    assert ["\n".join(crash("ValueError"))] == list(logs.unexpected(lines))


def test_other_words_between_are_no_crash() -> None:
    assert [] == list(logs.unexpected(["a warning of a library", "{}"]))
