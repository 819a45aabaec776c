"""Counts of calls are of functions that exist."""

import pytest

from gang_scheduler.model.refs import natural_key
from support.call_counts import calls_of


def test_what_was_called_is_counted() -> None:
    assert 2 == calls_of(lambda: [natural_key("a"), natural_key("b")])["refs.natural_key"]


def test_what_was_not_called_is_zero() -> None:
    assert 0 == calls_of(lambda: None)["refs.natural_key"]


@pytest.mark.parametrize("name", ["names.unnatural_key", "no_such_module.natural_key", "names"])
def test_what_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(LookupError, match=name):
        calls_of(lambda: None)[name]
