"""The table by kind of fault."""

from tools.chaos import report
from tools.chaos.report import Row
from tools.chaos.storm import Struck
from tools.chaos.witness import Violation


def struck(name: str, began: float, ended: float, *, met: bool = True) -> Struck:
    return Struck(name, began, ended, met, "")


def test_a_row_a_kind_with_the_time_until_the_next_binding() -> None:
    faults = [
        struck("cut", 0.0, 1.0),
        struck("kill", 2.0, 3.0),
        struck("cut", 4.0, 5.0),
        struck("cut", 6.0, 7.0, met=False),
    ]

    found = report.rows(faults, [1.5, 4.0, 9.0], [])

    assert [Row("cut", 2, 1, 2.25, 4.0, 0), Row("kill", 1, 0, 1.0, 1.0, 0)] == found


def test_a_violation_counts_for_all_that_may_have_caused_it() -> None:
    faults = [struck("early", 0.0, 1.0), struck("cut", 100.0, 110.0), struck("kill", 105.0, 120.0)]

    found = report.rows(faults, [], [Violation(106.0, "any")])

    assert {"early": 0, "cut": 1, "kill": 1} == {each.name: each.violations for each in found}


def test_the_table_is_markdown() -> None:
    lines = list(report.table([Row("cut", 2, 1, 2.25, None, 0)]))

    assert "| cut | 2 | 1 | 2.2 s |  | 0 |" == lines[-1]
    assert {6 + 1} == {line.count("|") for line in lines}
