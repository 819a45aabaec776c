"""The settings of the operator, from its ConfigMap."""

from collections.abc import Mapping
from typing import Any

import pytest

from gang_scheduler.api.kinds import CONFIG_MAPS
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection import live
from gang_scheduler.inspection.live import OperatorSettings
from gang_scheduler.inspection.servers import Server
from gang_scheduler.model.api_words import NodeStrategy
from gang_scheduler.settings.policy import Policy
from support.listing_server import ListingServer, listed


def config_map(settings: str, namespace: str = "ops") -> dict[str, Any]:
    return {
        "metadata": {"name": live.NAME, "namespace": namespace},
        "data": {"settings.json": settings, "operator": "gangs"},
    }


async def found(answers: Mapping[str, Any]) -> OperatorSettings:
    async with ListingServer(answers) as server, Connection(server.configuration) as connection:
        return await live.read_profiles(Server(connection, "a"))


async def test_settings_are_those_of_the_config_map() -> None:
    bodies = listed(config_map('{"strategy": "spread", "http_port": 1}'))

    assert OperatorSettings(Policy(strategy=NodeStrategy.SPREAD), "ops/gangs") == await found(
        {CONFIG_MAPS.path(): bodies}
    )


@pytest.mark.parametrize("answers", [{}, {CONFIG_MAPS.path(): 403}, {CONFIG_MAPS.path(): []}])
async def test_without_one_they_are_the_defaults(answers: Mapping[str, Any]) -> None:
    assert OperatorSettings(Policy()) == await found(answers)


async def test_the_oldest_is_that_of_the_operator_whatever_users_make() -> None:
    ours, made = config_map("{}", "ops"), config_map('{"strategy": "spread"}', "a")
    ours["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    made["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    settings = await found({CONFIG_MAPS.path(): listed(made, ours)})

    assert ("ops/gangs", Policy()) == (settings.settings_of, settings.policy)
    assert "not those of a" in settings.notes[0]


async def test_of_several_the_first_is_taken_and_that_is_reported() -> None:
    bodies = listed(config_map("{}", "z"), config_map("{}", "b"))
    settings = await found({CONFIG_MAPS.path(): bodies})

    assert "b/gangs" == settings.settings_of
    assert "not those of z" in settings.notes[0]


@pytest.mark.parametrize("text", ["{", "[]", '{"strategy": "tight"}'])
def test_unreadable_settings_are_reported(text: str) -> None:
    settings = live.of_config_map(config_map(text))

    assert (Policy(), "") == (settings.policy, settings.settings_of)
    assert "configmap ops/py-gang-scheduler-profile cannot be read" in settings.notes[0]


async def test_a_server_that_fails_is_an_error() -> None:
    with pytest.raises(ApiError):
        await found({CONFIG_MAPS.path(): 500})


def test_flags_beside_the_settings_are_reported() -> None:
    body = config_map("{}")
    body["data"]["extraArgs.json"] = '["--no-preemption", "--log-level=debug", "--strategy=spread"]'

    expected = ("not counted: --preemption, --strategy of ops/gangs",)
    assert expected == live.of_config_map(body).notes


def test_settings_that_are_given_count_instead_of_those_of_the_operator() -> None:
    found = live.OperatorSettings(Policy(max_victims=7, preemption=False), "a/scheduler")

    policy, settings_of, notes = live.overridden(Policy(max_victims=3), found)

    rules = policy.rules.preemption
    assert (3, False, "a/scheduler") == (rules.max_victims, rules.preemption, settings_of)
    assert ("settings of a/scheduler, but for max_victims",) == notes


def test_where_nothing_is_given_there_is_nothing_to_say() -> None:
    found = live.OperatorSettings(Policy(max_victims=7))

    assert found == live.overridden(Policy(), found)
