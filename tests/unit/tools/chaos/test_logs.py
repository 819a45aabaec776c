"""Which tracebacks in logs are unexpected."""

from tools.chaos import logs

OF_KOPF = '{"event": "Watcher for pods has failed: why", "exception": "Traceback (most recent"}'
OF_OURS = '{"event": "any", "exception": "Traceback (most recent call last)"}'
CRASH = [
    "  + Exception Group Traceback (most recent call last):",
    "    | Traceback",
    "    | {end}: why",
]


def crash(end: str) -> list[str]:
    return [line.replace("{end}", end) for line in CRASH]


def test_an_error_of_ours_is_unexpected_and_the_end_of_kopf_is_not() -> None:
    assert [OF_OURS] == list(logs.unexpected(["{}", OF_KOPF, OF_OURS, "{}"]))


def test_a_crash_is_unexpected_as_a_whole_unless_the_lease_was_lost() -> None:
    lines = [*crash("LeadershipLost"), "{}", *crash("ValueError")]

    assert ["\n".join(crash("ValueError"))] == list(logs.unexpected(lines))


def test_other_words_between_are_no_crash() -> None:
    assert [] == list(logs.unexpected(["a warning of a library", "{}"]))
