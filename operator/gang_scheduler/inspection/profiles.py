"""The settings of the operator that decisions depend on, from the ConfigMap that the chart makes.

It has the same name in every release, so that it is found without knowing the namespace, and with
a right that covers no other ConfigMap.
"""

import json
import re
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.inspection.servers import Server
from gang_scheduler.settings.policy import Policy
from gang_scheduler.watch import live

NAME: Final = "py-gang-scheduler-profile"
SETTINGS: Final = "settings.json"
"""The key of the ConfigMap: a JSON object, of settings by their names in the environment."""
OPERATOR: Final = "operator"
"""The key of the name of the Deployment."""
FLAGS: Final = "extraArgs.json"
"""The key of flags of the operator beside its settings, which win over these."""
CONFIG_MAPS: Final = GVR("", "v1", "configmaps")


class OperatorSettings(NamedTuple):
    """Settings, and which operator they are of: "" for none, then they are defaults."""

    policy: Policy
    settings_of: str = ""
    notes: tuple[str, ...] = ()


async def read(server: Server) -> OperatorSettings:
    """Return the settings of the operator of a cluster, defaults where these cannot be read.

    Raises ApiError if the API server does not answer.
    """
    try:
        found = await live.bodies(
            *(server.connection, CONFIG_MAPS),
            selector=f"metadata.name={NAME}",
            page_seconds=server.request_seconds,
        )
    except ApiError as error:
        if error.kind not in (Kind.REFUSED, Kind.DENIED, Kind.GONE):
            raise
        return OperatorSettings(Policy())
    if not found:
        return OperatorSettings(Policy())
    first, *others = sorted(found, key=lambda each: str(each["metadata"]["namespace"]))
    return _with_note_of(others, of_config_map(first))


def of_config_map(body: dict[str, Any]) -> OperatorSettings:
    """Return the settings that a ConfigMap has, defaults and a note where they are none."""
    namespace, data = body["metadata"]["namespace"], body.get("data") or {}
    known = Policy.model_fields
    try:
        given = json.loads(data.get(SETTINGS, "{}"))
        policy = Policy(**{name: value for name, value in given.items() if name in known})
    except (ValueError, AttributeError, ValidationError) as error:
        problem = " ".join(str(error).split())
        note = f"configmap {namespace}/{NAME} cannot be read, defaults are used: {problem}"
        return OperatorSettings(Policy(), notes=(note,))
    settings_of = f"{namespace}/{data.get(OPERATOR, 'py-gang-scheduler')}"
    return OperatorSettings(policy, settings_of, _of_flags(settings_of, data.get(FLAGS, "[]")))


def but_for(given: Policy, found: OperatorSettings) -> OperatorSettings:
    """Return the settings with those instead that are given, and a note of which these are."""
    names = sorted(given.model_fields_set)
    if not names:
        return found
    policy = found.policy.model_copy(update={name: getattr(given, name) for name in names})
    of = f"of {found.settings_of}" if found.settings_of else "by default"
    note = f"settings {of}, but for {', '.join(names)}"
    return OperatorSettings(policy, found.settings_of, (*found.notes, note))


def _of_flags(settings_of: str, flags: str) -> tuple[str, ...]:
    """Return that flags are not counted which say something else of a setting, if some do."""
    known = {f"--{name.replace('_', '-')}" for name in Policy.model_fields}
    given = [
        each.partition("=")[0].replace("--no-", "--", 1) for each in re.findall(r"--[\w=-]+", flags)
    ]
    found = [each for each in given if each in known]
    return (f"not counted: {', '.join(found)} of {settings_of}",) if found else ()


def _with_note_of(others: list[dict[str, Any]], chosen: OperatorSettings) -> OperatorSettings:
    if not others:
        return chosen
    names = ", ".join(str(each["metadata"]["namespace"]) for each in others)
    note = f"there are operators in several namespaces: settings of {chosen.settings_of} are used"
    return chosen._replace(notes=(*chosen.notes, f"{note}, not those of {names}"))
