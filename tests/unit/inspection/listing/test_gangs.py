"""Label selectors as kubectl writes them."""

import pytest

from gang_scheduler.inspection.listing import gangs

HAS = {"app": "a", "tier": "web"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=a", True),
        ("app==a,tier!=db", True),
        ("app=b", False),
        ("app", True),
        ("!app", False),
        ("!other", True),
        ("app in (a, b),tier notin (db)", True),
        ("app notin (a)", False),
        ("other in (a)", False),
        ("other!=a", True),
    ],
)
def test_selectors_match_as_those_of_kubectl(selector: str, *, matches: bool) -> None:
    assert matches is gangs.parsed_labels(selector)(HAS)


@pytest.mark.parametrize("selector", ["=", "a in b", "a=b=c", "(a)"])
def test_what_is_no_selector_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match="no label selector"):
        gangs.parsed_labels(selector)
