"""The command line: parse, call, print."""

import difflib
import enum
import json
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

import click
import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError

import gang_scheduler
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.settings import Policy, Settings, unknown_variables
from gang_scheduler.simulation import defaults, documents, objects, remarks
from gang_scheduler.simulation.documents import Document, Problem
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.output import report, tables
from gang_scheduler.simulation.run import MOST_CYCLES, Options, Outcome, simulate
from gang_scheduler.state.queues.names import EVERYWHERE

Command = Callable[..., None]
Describe = Callable[[str, FieldInfo], str]
M = TypeVar("M", bound=BaseModel)
_ALL_WITHOUT_VALUE = ("require_queue",)
"""Settings whose flag without a value means all namespaces."""
OUTPUTS = ("table", "wide", "json", "yaml")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _env(name: str) -> str:
    return f"{Settings.model_config['env_prefix']}{name.upper()}"


def _help(name: str, field: FieldInfo) -> str:
    return f"{field.description} [{_env(name)}; default: {_default(field)}]"


def _help_without_variable(_: str, field: FieldInfo) -> str:
    text = (field.description or "").replace(" (a JSON list in the environment)", "")
    return f"{text} [default: {_default(field)}]"


def _default(field: FieldInfo) -> str:
    default = field.default
    if isinstance(default, tuple):
        return json.dumps(default)
    if isinstance(default, bool):
        return str(default).lower()
    return "empty" if default == "" else str(default)


def _metavar(field: FieldInfo) -> str | None:
    if field.annotation is bool:
        return None
    if isinstance(field.annotation, type) and issubclass(field.annotation, enum.Enum):
        return "|".join(field.annotation)
    return "N" if field.annotation is int else "TEXT"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gang_scheduler.__version__, prog_name="py-gang-scheduler")
def main() -> None:
    """Schedule gangs of pods on Kubernetes: all of them start, close together, or none does."""


def _settings_options(model: type[BaseModel], describe: Describe) -> Callable[[Command], Command]:
    """Return what adds an option for each setting of a model. Pydantic checks the values."""

    def add(command: Command) -> Command:
        for name, field in reversed(model.model_fields.items()):
            command = _option(name, field, describe)(command)
        return command

    return add


def _option(name: str, field: FieldInfo, describe: Describe) -> Callable[[Command], Command]:
    flags: tuple[str, ...] = (_flag(name),)
    given: dict[str, Any] = {"default": None}
    if field.annotation is bool:
        flags = (f"{flags[0]}/--no-{flags[0].removeprefix('--')}",)
    elif typing.get_origin(field.annotation) is tuple:
        # One name at a time, so that the flag reads better in the singular.
        ending = "es" if flags[0].endswith("xes") else "s"
        flags, given = (*flags, flags[0].removesuffix(ending)), {"multiple": True}
    if name in _ALL_WITHOUT_VALUE:
        given |= {"is_flag": False, "flag_value": EVERYWHERE}
    flags = tuple(dict.fromkeys(flags))
    return click.option(*flags, name, help=describe(name, field), metavar=_metavar(field), **given)


@main.command("run")
@_settings_options(Settings, _help)
def run_command(**flags: Any) -> None:  # noqa: ANN401 - one for each setting.
    """Run the operator. A flag wins over the environment, and that over the default."""
    if unknown := unknown_variables():
        _refuse(map(_unknown, unknown))
    settings = _settings(Settings, flags)
    # Here, since no other command needs a Kubernetes client.
    from gang_scheduler import app  # noqa: PLC0415
    from gang_scheduler.client.connection import UnusableConfigurationError  # noqa: PLC0415
    from gang_scheduler.probes import CannotListenError  # noqa: PLC0415

    try:
        app.run(settings)
    except UnusableConfigurationError as error:
        _refuse([f"{_flag('kubeconfig')}: {error}"])
    except CannotListenError as error:
        _refuse([f"{_flag('http_host')}, {_flag('http_port')}: {error}"])


@main.command("simulate")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    required=True,
    metavar="FILE|DIR|-",
    help="Manifests: a file, the files of a directory, or - for standard input. Repeatable.",
)
@click.option(
    "-R", "--recursive", is_flag=True, help="Read the directories inside of directories, too."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(OUTPUTS),
    default="table",
    show_default=True,
    help="table sums up what is long, wide does not.",
)
@click.option(
    "--at",
    metavar="RFC3339",
    help="When it is, such as 2024-05-01T12:00:00Z. Without it, after all times in the input.",
)
@click.option("--until-settled", is_flag=True, help="Go on until a cycle changes nothing.")
@click.option(
    "--recreate-victims",
    is_flag=True,
    help=(
        "With --until-settled: victims come back as pods that wait, as old as they were, as what "
        "created them would create them again. Gangs say how often they were evicted."
    ),
)
@click.option(
    "--fail-on-unschedulable",
    is_flag=True,
    help=(
        "Exit with 1 when a pod is unschedulable, or when there is a workload of a kind whose pods "
        "are not made here."
    ),
)
@click.option(
    "--assume-scheduler-name/--no-assume-scheduler-name",
    default=None,
    help=(
        "Whether pods without a schedulerName are taken as ours, or, as on a cluster, as "
        "default-scheduler's. Without this flag those of manifests are ours, which is said, and "
        "those from a cluster are not."
    ),
)
@_settings_options(Policy, _help_without_variable)
def simulate_command(
    *,
    filenames: tuple[str, ...],
    recursive: bool,
    output: str,
    at: str | None,
    until_settled: bool,
    recreate_victims: bool,
    fail_on_unschedulable: bool,
    assume_scheduler_name: bool | None,
    **flags: Any,  # noqa: ANN401 - one for each setting that decides.
) -> None:
    """Schedule manifests without a cluster, and show the decisions.

    The settings are those of `run` that decisions depend on; the environment is not read.

    Exits with 0 whatever the outcome, with 2 when the input cannot be read, and with 3 when it is
    not settled after 1000 cycles.
    """
    if recreate_victims and not until_settled:
        _refuse(["--recreate-victims: victims come back between cycles: add --until-settled"])
    policy = _settings(Policy, flags)
    read = documents.read(filenames, recursive=recursive)
    found = _objects(read, policy.scheduler_names[0], at, assume_ours=assume_scheduler_name)
    for note in remarks.of(found, policy.scheduler_names):
        click.echo(note, err=True)
    outcome = simulate(found, Options(policy, until_settled, recreate_victims))
    for note in remarks.of_topologies(found, outcome):
        click.echo(note, err=True)
    click.echo(_rendered(outcome, output), nl=False)
    if not outcome.settled:
        click.echo(f"--until-settled: not settled after {MOST_CYCLES} cycles", err=True)
        sys.exit(3)
    if fail_on_unschedulable and (outcome.refused or found.not_expanded):
        sys.exit(1)


def _objects(
    read: Iterable[Document | Problem], scheduler: str, at: str | None, *, assume_ours: bool | None
) -> Objects:
    try:
        now = None if at is None else defaults.moment("--at:", at)
        return objects.load(read, scheduler, assume_ours=assume_ours, at=now)
    except InvalidField as error:
        _refuse([str(error)])
    except UnreadableInput as error:
        _refuse(error.lines)


def _rendered(outcome: Outcome, output: str) -> str:
    document = report.document(outcome)
    if output == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if output == "yaml":
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    terminal = sys.stdout.isatty()
    return tables.render(document, outcome, terminal=terminal, wide=output == "wide")


def _settings(model: type[M], flags: Mapping[str, Any]) -> M:
    # Options that were not given: None, and () for those that may be repeated.
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    try:
        return model(**given)
    except ValidationError as error:
        # The last one first: what is wrong with an item, and not that the list is then too short.
        first = {each["loc"][0]: each for each in reversed(error.errors())}
        _refuse(
            _invalid(each["loc"], each["input"], each["msg"], given)
            for each in reversed(first.values())
        )
    except SettingsError as error:
        named = [name for name in Settings.model_fields if f'"{name}"' in str(error)]
        _refuse(f'{_env(name)} must be a JSON list such as ["a", "b"]' for name in named)


def _invalid(location: tuple[int | str, ...], value: object, problem: str, given: Any) -> str:  # noqa: ANN401
    name = str(location[0])
    where = _flag(name) if name in given else _env(name)
    return f"{where}: {problem[:1].lower()}{problem[1:]}, not {json.dumps(value, default=str)}"


def _unknown(variable: str) -> str:
    name = variable[len(Settings.model_config["env_prefix"]) :].lower()
    near = difflib.get_close_matches(name, Settings.model_fields, n=1)
    hint = f"; did you mean {_env(near[0])}?" if near else ""
    return f"{variable}: there is no such setting{hint}"


def _refuse(lines: Iterable[str]) -> NoReturn:
    for line in lines:
        click.echo(line, err=True)
    sys.exit(2)
