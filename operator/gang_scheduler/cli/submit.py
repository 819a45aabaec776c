"""`submit`: from flags, a file or an sbatch script to a running gang."""

from collections.abc import Callable
from typing import Any

import click

from gang_scheduler.cli import completion
from gang_scheduler.cli.exits import Exit
from gang_scheduler.cli.helping import Grouped, HelpfulCommand, OfOutput, statuses
from gang_scheduler.cli.reading.options import Command, in_one_namespace

AFTER_DASHES = "words after --"


class OfJob(Grouped):
    """An option on the command of the job, and on its resources."""

    heading = "The job"


class OfTurn(Grouped):
    """An option on when and where the job is scheduled."""

    heading = "Scheduling"


class SubmitCommand(HelpfulCommand):
    """A command that keeps the words after `--`: a command, or the arguments of a script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words before `--`, and keep the others."""
        if "--" in args:
            place = args.index("--")
            ctx.meta[AFTER_DASHES] = args[place + 1 :]
            args = args[:place]
        return super().parse_args(ctx, args)


def _job(*names: str, **given: Any) -> Callable[[Command], Command]:  # noqa: ANN401 - of click.
    return click.option(*names, cls=OfJob, **given)


def _turn(*names: str, **given: Any) -> Callable[[Command], Command]:  # noqa: ANN401 - of click.
    return click.option(*names, cls=OfTurn, **given)


@click.command(
    "submit",
    cls=SubmitCommand,
    example="submit --name llama --nodes 4 --gpus 8 --image I -- ./train",
    statuses=statuses(
        {
            Exit.NOT_TRUE: "with --follow: the job failed",
            Exit.BAD_INPUT: "bad input; file, line or field are named",
        }
    ),
)
@click.argument("script", required=False, type=click.Path(exists=True, dir_okay=False))
@_job("-f", "--filename", type=click.Path(exists=True, dir_okay=False), help="A TrainingJob file.")
@_job("--name", help="Name of the job.")
@_job("--type", "job_type", help="Kind of object: Job (the default), PyTorchJob, MPIJob, ...")
@_job("--image", help="Image of the containers.")
@_job("--nodes", help="Number of members, or 2:8 for an elastic job.")
@_job("--gpus", type=click.IntRange(min=0), help="GPUs of each member.")
@_job("--cpus", help="CPUs of each member.")
@_job("--mem", help="Memory of each member, such as 256Gi.")
@_job("--gpu-type", help="Type of GPU: a ResourceFlavor, or the label nvidia.com/gpu.product.")
@_job("--gpu-resource", help="Resource of a GPU; by default nvidia.com/gpu.")
@_job("--env", multiple=True, metavar="NAME=VALUE", help="Variable of all members. Repeatable.")
@_job(
    *("--volume", "claims"),
    multiple=True,
    metavar="CLAIM:/PATH",
    help="Mount this PersistentVolumeClaim in all members. Repeatable.",
)
@_job(
    *("--ignore", "ignored"),
    multiple=True,
    metavar="WORD",
    help="Leave out this option or command of SCRIPT, such as output. Repeatable.",
)
@_turn("--queue", help="Queue to charge.", shell_complete=completion.queues)
@_turn("--priority", type=int, help="Value of a PriorityClass.")
@_turn("--priority-class", help="Name of a PriorityClass.")
@_turn("--must", metavar="LAYER", help="Gather all members in one domain of this layer.")
@_turn(
    "--prefer",
    metavar="LAYER",
    help="Gather all members in one domain of this layer if possible.",
)
@_turn("--time", metavar="DURATION", help="End members that run longer: 12h.")
@_turn("--expected-duration", metavar="DURATION", help="How long members are expected to run.")
@_turn(
    "--max-wait",
    "max_wait_time",
    metavar="DURATION",
    help="Report the gang as late after it has waited this long.",
)
@_turn(
    "--checkpoint",
    "checkpoint_mode",
    help="How the job saves its work: Signal, Annotation, HTTP.",
)
@_turn("--checkpoint-timeout", metavar="DURATION", help="How long saving may take: 5m.")
@in_one_namespace
@click.option(
    "--dry-run",
    cls=OfOutput,
    type=click.Choice(("none", "client", "server")),
    default="none",
    show_default=True,
    help="Create nothing: client asks no server, server has it check the objects.",
)
@click.option(
    *("-o", "--output"),
    cls=OfOutput,
    type=click.Choice(("table", "yaml", "json", "name")),
    default="table",
    show_default=True,
    help="How to print the objects.",
)
@click.option("--follow", is_flag=True, help="Wait and print the log; ctrl-C detaches only.")
@click.pass_context
def submit_command(ctx: click.Context, /, **given: Any) -> None:  # noqa: ANN401 - one for each option.
    """Create a job whose pods start together, from flags, a TrainingJob file or a SCRIPT.

    SCRIPT is a batch script: its #SBATCH options count, and every member runs it. Words after --
    are the command, or the arguments of SCRIPT. Flags win over the script, and both over the file.
    Before anything is created, it prints a table of the objects, and whether the job would start
    now.
    """
    from gang_scheduler.cli.answers import submit  # noqa: PLC0415 - not for help.

    submit.answer(ctx.meta.get(AFTER_DASHES, []), **given)
