"""Where an answer comes from, in words."""

from dataclasses import replace

from gang_scheduler import from_settings
from gang_scheduler.inspection import cluster
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.changes import Changes

LIVE = Cluster(
    from_settings.cache(Policy(), Changes()),
    Policy(),
    1_000_000,
    Source.LIVE,
    "ops/gangs",
    unread=("x",),
)


def test_the_last_line_says_what_was_read_and_when() -> None:
    expected = "computed from 0 nodes and 0 pods, read at 13:46:40 UTC, settings of ops/gangs"

    assert expected == cluster.origin_line(LIVE)


def test_default_settings_are_reported() -> None:
    assert cluster.origin_line(replace(LIVE, settings_of="")).endswith(cluster.NOT_READABLE)


def test_a_list_tells_of_default_settings_in_two_words() -> None:
    assert cluster.short_line(replace(LIVE, settings_of="")).endswith("UTC, default settings")
    assert cluster.origin_line(LIVE) == cluster.short_line(LIVE)


def test_files_are_as_of_their_time() -> None:
    line = cluster.origin_line(replace(LIVE, source=Source.FILES))

    assert "computed from 0 nodes and 0 pods, as of 13:46:40 UTC" == line


def test_what_is_not_known_is_reported() -> None:
    line = cluster.origin_line(replace(LIVE, source=Source.WRITTEN, namespace="research"))

    assert "in namespace research" in line
    assert "not known with your rights" in line


def test_documents_say_the_same() -> None:
    assert {
        "source": "live",
        "readAt": "1970-01-12T13:46:40Z",
        "settingsOf": "ops/gangs",
        "notReadable": ["x"],
    } == cluster.origin_document(LIVE)
