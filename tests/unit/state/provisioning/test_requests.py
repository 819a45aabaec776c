"""All requests by gang: those that are seen, and those that are decided on."""

from dataclasses import replace

from gang_scheduler.decode.provisioning import NO_GANG
from gang_scheduler.model.provisioning import NodeRequest, ProvisioningRequest, RequestState
from gang_scheduler.state.provisioning import MOST_NEWS, Requests
from support.builders import gang, gang_key

KEY = gang_key("a")
DECIDED = ProvisioningRequest("default", "pgs-1", KEY, "u", "d", 1, "class")
SEEN = replace(DECIDED, uid="1")


def decided() -> Requests:
    requests = Requests()
    requests.decide(NodeRequest(gang("a"), "d", DECIDED, is_new=True))
    return requests


def test_what_is_decided_counts_before_it_is_seen() -> None:
    requests = decided()

    assert (DECIDED,) == requests.of(KEY)
    assert [DECIDED] == [each.request for each in requests.decided.values()]


def test_what_is_seen_takes_the_place_of_what_was_decided() -> None:
    requests = decided()

    requests.upsert(SEEN)

    assert ((SEEN,), {}) == (requests.of(KEY), requests.decided)
    assert {"1"} == requests.uids()


def test_only_what_matters_is_news() -> None:
    requests = decided()
    requests.upsert(SEEN)

    assert not requests.upsert(replace(SEEN, templates=("x",)))
    assert requests.upsert(replace(SEEN, state=RequestState.ACCEPTED))
    assert [RequestState.ASKED, RequestState.ACCEPTED] == [
        each.state for each in requests.take_news()
    ]
    assert [] == requests.take_news()


def test_a_request_that_is_gone_is_forgotten() -> None:
    requests = decided()
    requests.upsert(SEEN)

    assert requests.delete("1")
    assert not requests.delete("1")
    assert ((), []) == (requests.of(KEY), [*requests.gangs()])


def test_a_request_of_another_writer_is_listed_and_nothing_else() -> None:
    requests = Requests()

    assert not requests.upsert(replace(SEEN, gang=NO_GANG))

    assert ({"1"}, []) == (requests.uids(), [*requests.all()])
    assert not requests.delete("1")
    assert set() == requests.uids()


def test_what_is_refused_came_to_nothing() -> None:
    requests = decided()

    requests.refused(DECIDED, "forbidden", 7)

    (found,) = requests.of(KEY)
    assert (RequestState.REFUSED, "forbidden", 7) == (found.state, found.message, found.since)
    assert {} == requests.decided


def test_what_is_being_deleted_is_there_until_it_is_gone() -> None:
    requests = decided()
    requests.upsert(SEEN)

    requests.deleting(SEEN)

    assert [True] == [each.deleting for each in requests.of(KEY)]


def test_what_was_never_seen_goes_at_once() -> None:
    requests = decided()

    requests.deleting(DECIDED)

    assert ((), {}) == (requests.of(KEY), requests.decided)


def test_a_later_object_of_the_same_name_is_another_request() -> None:
    requests = decided()
    requests.upsert(SEEN)
    requests.upsert(replace(SEEN, uid="2"))

    assert not requests.delete("1")
    assert requests.delete("2")


def test_a_request_that_names_another_gang_now_is_of_that_one() -> None:
    requests = decided()
    requests.upsert(SEEN)

    requests.upsert(replace(SEEN, gang=gang_key("b")))

    assert ((), 1) == (requests.of(KEY), len(requests.of(gang_key("b"))))


def test_where_nobody_takes_news_requests_that_are_gone_take_no_memory() -> None:
    requests = decided()
    requests.upsert(SEEN)
    for number in range(2 * MOST_NEWS):
        requests.upsert(replace(SEEN, name=f"pgs-{number}-x", uid=f"uid-{number}"))
        requests.delete(f"uid-{number}")
    requests.upsert(replace(SEEN, state=RequestState.PROVISIONED))

    news = requests.take_news()

    assert len(news) <= MOST_NEWS + 2
    assert {RequestState.ASKED, RequestState.PROVISIONED} == {
        e.state for e in news if e.name == SEEN.name
    }
