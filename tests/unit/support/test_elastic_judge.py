"""The judge of elastic gangs sees what they may not do."""

import pytest

from support.elastic_judge import Change, Rules, changes_of, faults

RULES = Rules(2, 8, up_cooldown=10, down_cooldown=10, up_step=2, down_step=2)


def judged(*sizes: tuple[float, int]) -> list[str]:
    return faults(changes_of(sizes), RULES)


def test_changes_within_a_burst_are_one() -> None:
    sizes = [(0, 1), (0.1, 2), (0.2, 3), (5, 3), (9, 4), (9.1, 3)]

    assert [Change(0, 0, 3)] == changes_of(sizes, burst=1)


def test_what_a_gang_may_do() -> None:
    assert [] == judged((0, 5), (10, 7), (20, 8), (30, 4), (40, 6), (50, 0), (51, 3))


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (((0, 1),), "is not between"),
        (((0, 9),), "is not between"),
        (((0, 5), (10, 6)), "no whole step up"),
        (((0, 8), (10, 5)), "no whole step down"),
        (((0, 5), (9, 7)), "comes within"),
        (((0, 8), (9, 6)), "goes within"),
        (((0, 4), (10, 6), (20, 4), (29, 6)), "comes within"),
    ],
)
def test_what_it_may_not_do(sizes: tuple[tuple[float, int], ...], words: str) -> None:
    assert any(words in each for each in judged(*sizes))


def test_a_gang_that_turns_thrice_within_both_cooldowns_goes_to_and_fro() -> None:
    rules = Rules(2, 8, up_cooldown=10, down_cooldown=10)

    told = faults([Change(t, 4 + t % 2, 5 - t % 2) for t in range(4)], rules)

    assert any("turns within both cooldowns" in each for each in told)
