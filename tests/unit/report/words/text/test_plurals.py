"""Numbers of things in words."""

import pytest

from gang_scheduler.report.words.text import counted


@pytest.mark.parametrize(("number", "said"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods")])
def test_only_one_thing_is_singular(number: int, said: str) -> None:
    assert said == counted(number, "pod")
