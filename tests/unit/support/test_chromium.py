"""Tests that need a browser where there is none."""

import pytest

from support import chromium


@pytest.mark.parametrize(
    ("needed", "outcome"), [("", pytest.skip.Exception), ("needed", pytest.fail.Exception)]
)
async def test_without_a_browser_tests_are_skipped_or_fail_if_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, needed: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setattr(chromium, "PROGRAM", None)
    monkeypatch.setenv("GANG_TESTS_BROWSER", needed)

    with pytest.raises(outcome, match="apt-get install chromium"):
        async with chromium.chromium():
            pass
