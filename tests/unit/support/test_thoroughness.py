"""How many cases tests draw, by the environment."""

import pytest

from support import thoroughness
from support.thoroughness import VARIABLE


def test_few_are_drawn_unless_more_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert 3 == thoroughness.cases(3, thorough=50)

    monkeypatch.setenv(VARIABLE, "quick")
    assert 3 == thoroughness.cases(3, thorough=50)

    monkeypatch.setenv(VARIABLE, "thorough")
    assert 50 == thoroughness.cases(3, thorough=50)


def test_of_cases_of_others_a_third_is_looked_at_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert [1, 4] == thoroughness.some([1, 2, 3, 4, 5, 6])

    monkeypatch.setenv(VARIABLE, "thorough")
    assert [1, 2, 3] == thoroughness.some([1, 2, 3])


def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "more")

    with pytest.raises(ValueError, match="GANG_TESTS must be quick or thorough, not 'more'"):
        thoroughness.asked()
