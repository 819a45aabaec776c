"""`demo`: gangs being scheduled, on an API server of its own."""

import click

from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.helping import HelpfulCommand
from gang_scheduler.cli.reading.options import port_option


@click.command(
    "demo",
    cls=HelpfulCommand,
    example="demo --stay",
    statuses=(Exit.DONE, Exit.NOT_TRUE, Exit.BAD_INPUT, Exit.INTERRUPTED),
)
@click.option(
    "--stay",
    is_flag=True,
    help="Keep the cluster after the story, until ctrl-C: print a kubeconfig to try things with.",
)
@port_option("--port", "Port of the API server on 127.0.0.1; 0: any free one.")
def demo_command(*, stay: bool, port: int) -> None:
    """Watch gangs being scheduled: no cluster is needed, and none is touched.

    The scheduler is the real one, in a process of its own. The Kubernetes API server is a stand-in
    in Python with its objects in memory; no pod runs.
    """
    from gang_scheduler.cli.answers import demo  # noqa: PLC0415 - not for help.
    from gang_scheduler.demo.cluster import DemoFailed  # noqa: PLC0415

    try:
        demo.answer(stay=stay, port=port)
    except DemoFailed as error:
        refuse([f"the demo failed: {error}"], Exit.NOT_TRUE)
    except KeyboardInterrupt:
        refuse(["interrupted: everything is stopped and removed"], Exit.INTERRUPTED)
