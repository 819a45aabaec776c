"""The worked cases of devices, through `simulate`: the devices of each pod, and why others wait."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from conformance import device_manifests
from conformance.device_manifests import Case
from gang_scheduler.cli import main
from support import yaml_texts


@pytest.mark.parametrize("case", device_manifests.DATA["cases"], ids=lambda case: case["id"])
def test_case(case: Case) -> None:
    said = yaml_texts.written_all(list(device_manifests.manifests(case)))
    arguments = ["simulate", "-f", "-", "-o", "json", "--at", "2026-01-01T12:00:00Z"]
    arguments += case.get("args", [])
    outcome = CliRunner().invoke(main, arguments, input=said)
    assert outcome.exit_code == 0, outcome.output
    found, expect = json.loads(outcome.stdout), case["expect"]

    bound = {each["pod"].removeprefix("default/"): each for each in found["bindings"]}
    waiting = {each["gang"].removeprefix("default/"): each for each in found["unschedulable"]}
    assert {each["gang"].removeprefix("default/") for each in bound.values()} == {
        *expect.get("admitted", [])
    }
    nominated = {each["pod"].removeprefix("default/"): each for each in found["nominations"]}
    assert {each["gang"].removeprefix("default/") for each in nominated.values()} == {
        *expect.get("nominated", [])
    }
    victims = {(each["gang"] or each["pod"]).removeprefix("default/") for each in found["victims"]}
    assert victims == {*expect.get("victims", [])}
    reasons = {
        name: each["reason"]
        for name, each in waiting.items()
        if name not in expect.get("nominated", [])
    }
    assert reasons == expect.get("waiting", {})
    bound |= nominated
    for name, words in expect.get("message", {}).items():
        assert words in waiting[name]["message"]
    for name, node in expect.get("nodes", {}).items():
        assert bound[name]["node"] == node
    for name, claims in expect.get("devices", {}).items():
        assert {entry: _devices(bound[name], entry) for entry in claims} == claims
    for name, devices in expect.get("extended", {}).items():
        assert _texts(bound[name]["extended"]) == devices
    for node, devices in expect.get("extended_of_node", {}).items():
        on_node = (each for each in bound.values() if each["node"] == node)
        assert [text for each in on_node for text in _texts(each["extended"])] == devices
    for name, claims in expect.get("consumed", {}).items():
        for entry, amounts in claims.items():
            (device,) = bound[name]["claims"][entry]["devices"]
            assert device["consumedCapacity"] == amounts
    for name, figures in expect.get("queues", {}).items():
        (queue,) = (each for each in found["queues"] if each["queue"] == name)
        for figure, amounts in figures.items():
            assert {each["resource"]: each[figure] for each in queue["resources"]} == amounts
    _no_device_is_given_twice(bound)


def _devices(binding: dict[str, Any], entry: str) -> list[str]:
    return _texts(binding["claims"][entry]["devices"])


def _texts(devices: list[dict[str, Any]]) -> list[str]:
    return [
        f"{each['request']}={each['driver']}/{each['pool']}/{each['device']}" for each in devices
    ]


def _no_device_is_given_twice(bound: dict[str, dict[str, Any]]) -> None:
    holders: dict[tuple[str, ...], str] = {}
    for binding in bound.values():
        given = [(claim["claim"], claim["devices"]) for claim in binding["claims"].values()]
        for name, devices in [*given, (binding["pod"], binding["extended"])]:
            for each in devices:
                device = (each["driver"], each["pool"], each["device"], each["shareID"] or "")
                assert holders.setdefault(device, name) == name
