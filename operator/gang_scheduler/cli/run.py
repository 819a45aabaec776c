"""`run`: the operator."""

import sys
from collections.abc import Mapping
from typing import Any

import click
from pydantic_settings import SettingsError

from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.settings_options import (
    flag,
    settings_of,
    settings_options,
    variable,
    with_variable,
)
from gang_scheduler.model import similar_names
from gang_scheduler.settings.choices import ENV_PREFIX
from gang_scheduler.settings.run import Settings, unknown_variables


@click.command(
    "run",
    cls=HelpfulCommand,
    example="run --kubeconfig ~/.kube/config --no-leader-elect",
    statuses=(Exit.DONE, Exit.NOT_TRUE, Exit.BAD_INPUT),
)
@settings_options(Settings, with_variable)
def run_command(**flags: Any) -> None:  # noqa: ANN401 - one for each setting.
    """Run the operator. A flag wins over the environment, and the environment over the default."""
    if variables := unknown_variables():
        refuse(map(_unknown, variables))
    settings = _settings(flags)
    # Here, since no other command needs a Kubernetes client.
    from gang_scheduler import app  # noqa: PLC0415
    from gang_scheduler.client.connection import UnusableConfigurationError  # noqa: PLC0415
    from gang_scheduler.client.leader_election import LeadershipLost  # noqa: PLC0415
    from gang_scheduler.probes import CannotListenError  # noqa: PLC0415
    from gang_scheduler.watch.supervisor import WatchDeadError  # noqa: PLC0415

    try:
        app.run(settings)
    except UnusableConfigurationError as error:
        refuse([f"{flag('kubeconfig')}: {error}"])
    except WatchDeadError as error:
        refuse([str(error)], Exit.NOT_TRUE)
    except CannotListenError as error:
        refuse([f"{flag('http_host')}, {flag('http_port')}: {error}"])
    except LeadershipLost:
        # The log has the reason. The restarted process begins as a standby.
        sys.exit(Exit.NOT_TRUE)


def _settings(flags: Mapping[str, Any]) -> Settings:
    """Return the settings of flags and the environment; exits with a message if any is invalid."""
    try:
        return settings_of(Settings, flags)
    except SettingsError as error:
        named = [name for name in Settings.model_fields if f'"{name}"' in str(error)]
        refuse(f'{variable(name)} must be a JSON list such as ["a", "b"]' for name in named)


def _unknown(found: str) -> str:
    """Return the message about a variable that is not a setting."""
    near = similar_names.close_to(found[len(ENV_PREFIX) :].lower(), Settings.model_fields)
    hint = f"; did you mean {variable(near[0])}?" if near else ""
    return f"{found}: there is no such setting{hint}"
