"""`run`: the operator."""

import sys
from typing import Any

import click

from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.options import flag, settings_of, settings_options, unknown, with_variable
from gang_scheduler.settings.run import Settings, unknown_variables


@click.command(
    "run",
    cls=HelpfulCommand,
    example="run --kubeconfig ~/.kube/config --no-leader-elect",
    statuses=(Exit.DONE, Exit.NOT_TRUE, Exit.BAD_INPUT),
)
@settings_options(Settings, with_variable)
def run_command(**flags: Any) -> None:  # noqa: ANN401 - one for each setting.
    """Run the operator. A flag wins over the environment, and that over the default."""
    if variables := unknown_variables():
        refuse(map(unknown, variables))
    settings = settings_of(Settings, flags)
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
        # The log has it. Whatever starts it again lets it begin as a standby.
        sys.exit(Exit.NOT_TRUE)
