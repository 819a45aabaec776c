"""The query of an address: what it selects, and what is cut or left out of it."""

import pytest
from aiohttp.test_utils import make_mocked_request

from gang_scheduler.page import node_map, queries
from gang_scheduler.page.view import PAGE_SIZE, Wanted


def test_fields_are_cut_and_without_spaces_around() -> None:
    text = "x" * (queries.LONGEST_TEXT + 1)
    request = make_mocked_request("GET", f"/gangs?text={text}&state=%20waiting%20")

    assert {"text": text[:-1], "state": "waiting"} == queries.fields_of(request.query)


def test_gangs_are_selected_by_words_and_an_unknown_order_is_none() -> None:
    found = queries.wanted({"state": "Waiting,running", "queue": "blue", "sort": "size"})

    states, chosen = frozenset({"waiting", "running"}), frozenset({"blue"})
    assert Wanted(states=states, queues=chosen) == found
    assert "gpu" == queries.wanted({"sort": "gpu"}).order


def test_nodes_are_selected_and_an_unknown_state_is_none() -> None:
    query = {"in": "r1", "gang": "team/a", "state": "lost", "text": "node"}

    assert node_map.Wanted("r1", "team/a", "", "node") == queries.wanted_nodes(query)
    assert "free" == queries.wanted_nodes({"state": "free"}).state


@pytest.mark.parametrize(
    ("page", "number", "first"),
    [("", 1, 0), ("2", 2, 50), ("9", 3, 100), ("0", 1, 0), ("-1", 1, 0), ("9" * 50, 1, 0)],
)
def test_a_page_that_is_not_there_is_the_nearest(page: str, number: int, first: int) -> None:
    found = queries.page_of(range(2 * PAGE_SIZE + 1), {"page": page})

    assert (number, 3, first) == (found[0], found[1], found[2][0])
