"""What notebooks show: tables in HTML, in which names and messages are text."""

from gang_scheduler.sdk.shown import Created, Explained, table

HOSTILE = "<script>alert(1)</script>"
DOCUMENT = {
    "namespace": "research",
    "name": "llama",
    "state": "Waiting",
    "reason": "Unschedulable",
    "summary": f"It lacks room {HOSTILE}.",
    "where": {
        "layer": "SpineLayer",
        "needed": 4,
        "domains": [{"domain": "SpineLayer/spine-1", "slots": 3}, {"domain": None, "slots": 7}],
    },
}


def test_a_table_escapes_its_texts() -> None:
    assert (
        "<table><thead><tr><th>a&amp;b</th></tr></thead>"
        "<tbody><tr><td>&lt;script&gt;alert(1)&lt;/script&gt;</td></tr></tbody></table>"
    ) == table(("a&b",), [(HOSTILE,)])


def test_an_explanation_is_a_table_with_the_domains() -> None:
    found = Explained(f"text {HOSTILE}", DOCUMENT)

    shown = found._repr_html_()

    assert "<script>" not in shown
    assert "<td>gang</td><td>research/llama</td>" in shown
    assert "<td>SpineLayer/spine-1</td><td>3</td>" in shown
    assert "<td>7</td>" not in shown
    assert ("Unschedulable", "text <script>alert(1)</script>") == (found.reason, str(found))


def test_an_explanation_of_what_runs_has_no_reason() -> None:
    assert ("", "It runs.") == (
        Explained("", {"reason": None, "summary": "It runs."}).reason,
        Explained("", {"summary": "It runs."}).summary,
    )


def test_created_objects_are_lines_and_a_table() -> None:
    found = Created((("Job", "llama", "4 members"),), "starts now")

    assert "Job llama: 4 members\nstarts now" == str(found)
    shown = found._repr_html_()
    assert "<td>Job</td><td>llama</td><td>4 members</td>" in shown
    assert shown.endswith("<p>starts now</p>")
    assert "<p>" not in Created((("Job", "a", "b"),))._repr_html_()
