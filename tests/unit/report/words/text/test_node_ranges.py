"""Names of nodes in short."""

import pytest

from gang_scheduler.report.words import text as word_text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["node-1"], "node-1"),
        (["node-1", "node-0", "node-2", "node-9"], "node-[0-2,9]"),
        (["node-9", "node-10"], "node-[9-10]"),
        (["n-08", "n-09", "n-10"], "n-[08-10]"),
        (["n-009", "n-10"], "n-[009,10]"),
        (["r1-gpu", "r2-gpu", "r1-cpu"], "r1-cpu,r[1-2]-gpu"),
        (["a", "b-1"], "a,b-1"),
        (
            ["gpu-024.eu-west-1.example", "gpu-077.eu-west-1.example"],
            "gpu-[024,077].eu-west-1.example",
        ),
        (["n-1.a", "n-2.a", "n-3.b"], "n-[1-2].a,n-3.b"),
        (["ip-10-0-1-5.ec2.internal", "ip-10-0-1-6.ec2.internal"], "ip-10-0-1-[5-6].ec2.internal"),
        (["10.0.0.1", "10.0.0.2"], "10.0.0.[1-2]"),
    ],
)
def test_names_that_differ_in_one_number_are_ranges(names: list[str], text: str) -> None:
    assert text == word_text.folded(names)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([], []),
        (["n-1.eu-west-1.example", "n-2.eu-west-1.example"], ["n-1", "n-2"]),
        (["n-1.a", "n-1.b"], ["n-1.a", "n-1.b"]),
        (["n-1", "n-2.a"], ["n-1", "n-2.a"]),
        (["10.0.0.1", "10.0.0.2"], ["10.0.0.1", "10.0.0.2"]),
    ],
)
def test_a_domain_that_all_have_is_left_out(names: list[str], short: list[str]) -> None:
    assert short == word_text.without_domain(names)
