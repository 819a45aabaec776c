"""`run` on the command line: its settings, and what it says before it starts."""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner, Result
from structlog.testing import capture_logs

import gang_scheduler
from gang_scheduler import app, gc_tuning
from gang_scheduler.cli import main
from gang_scheduler.client.leader_election import LeadershipLost
from gang_scheduler.model.api_words import NodeStrategy
from gang_scheduler.settings.choices import LogFormat
from gang_scheduler.settings.run import Settings
from gang_scheduler.telemetry import logs

KUBECONFIG = """\
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {{token: t}}}}]
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Collect the settings that `run` would start the operator with."""
    found: list[Settings] = []
    monkeypatch.setattr(gang_scheduler, "app", SimpleNamespace(run=found.append), raising=False)
    return found


def test_the_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(main, ["--version"])

    assert f"py-gang-scheduler, version {gang_scheduler.__version__}\n" == result.output


def test_run_starts_with_the_defaults(started: list[Settings]) -> None:
    CliRunner().invoke(main, ["run"])

    assert [Settings()] == started


def test_a_flag_wins_over_the_environment_and_that_over_the_default(
    started: list[Settings],
) -> None:
    flags = ["--strategy", "spread", "--no-leader-elect", "--http-port", "1"]
    names = ["--scheduler-names", "a", "--scheduler-names", "b"]
    environment = {"PGS_STRATEGY": "binpack", "PGS_HTTP_PORT": "2", "PGS_LOG_FORMAT": "console"}
    CliRunner().invoke(main, ["run", *flags, *names], env=environment)

    expected = Settings(
        strategy=NodeStrategy.SPREAD,
        leader_elect=False,
        http_port=1,
        scheduler_names=("a", "b"),
        log_format=LogFormat.CONSOLE,
    )
    assert [expected] == started


DEEP = 5000 * "["


@pytest.mark.parametrize(
    ("flags", "environment", "line"),
    [
        (
            ["--http-port", "99999"],
            {},
            '--http-port: input should be less than or equal to 65535, not "99999"',
        ),
        (
            ["--strategy", "tight"],
            {},
            "--strategy: input should be 'binpack' or 'spread', not \"tight\"",
        ),
        (
            [],
            {"PGS_BIND_CONCURRENCY": "many"},
            (
                "PGS_BIND_CONCURRENCY: input should be a valid integer, unable to parse string as "
                'an integer, not "many"'
            ),
        ),
        (
            [],
            {"PGS_SCHEDULER_NAMES": "a,b"},
            'PGS_SCHEDULER_NAMES must be a JSON list such as ["a", "b"]',
        ),
        (
            [],
            {"PGS_RESOURCE_TRANSFORMATIONS": DEEP},
            'PGS_RESOURCE_TRANSFORMATIONS must be a JSON list such as ["a", "b"]',
        ),
        (
            ["--spare-nodes", DEEP],
            {},
            f'--spare-nodes: value error, is nested too deeply, not ["{DEEP}"]',
        ),
        (
            ["--lease-duration-seconds", "6"],
            {},
            (
                "PGS_RENEW_DEADLINE_SECONDS: value error, it must be at least 1 less than "
                "leaseDurationSeconds, 6, not 8.0"
            ),
        ),
        (
            ["--renew-deadline-seconds", "9.5"],
            {},
            (
                "--renew-deadline-seconds: value error, it must be at least 1 less than "
                'leaseDurationSeconds, 10, not "9.5"'
            ),
        ),
        (
            ["--retry-period-seconds", "3"],
            {},
            (
                "--retry-period-seconds: value error, it must be at most a third of "
                'renewDeadlineSeconds, 8, not "3"'
            ),
        ),
        (
            ["--log-level", "loud"],
            {},
            "--log-level: input should be 'debug', 'info', 'warning' or 'error', not \"loud\"",
        ),
        (
            ["--scheduler-names", ""],
            {},
            '--scheduler-names: string should have at least 1 character, not ""',
        ),
        (
            [],
            {"PGS_PREEMTION": "false"},
            "PGS_PREEMTION: there is no such setting; did you mean PGS_PREEMPTION?",
        ),
        (
            [],
            {"pgs_preemtion": "false"},
            "pgs_preemtion: there is no such setting; did you mean PGS_PREEMPTION?",
        ),
        (
            ["--preemption"],
            {"PGS_WHATEVER_ELSE": "1"},
            "PGS_WHATEVER_ELSE: there is no such setting",
        ),
    ],
)
def test_a_setting_that_is_wrong_is_named_with_its_value(
    started: list[Settings], flags: list[str], environment: dict[str, str], line: str
) -> None:
    result = CliRunner().invoke(main, ["run", *flags], env=environment)

    assert (2, f"{line}\n", []) == (result.exit_code, result.stderr, started)


def test_the_times_of_the_lease_can_be_those_of_client_go(started: list[Settings]) -> None:
    names = ("--lease-duration-seconds", "--renew-deadline-seconds", "--retry-period-seconds")
    flags = [text for each in zip(names, ("15", "10", "2"), strict=True) for text in each]
    CliRunner().invoke(main, ["run", *flags])

    expected = Settings(
        lease_duration_seconds=15, renew_deadline_seconds=10, retry_period_seconds=2
    )
    assert [expected] == started


def test_variables_of_settings_may_be_in_lower_case(started: list[Settings]) -> None:
    CliRunner().invoke(main, ["run"], env={"pgs_strategy": "spread"})

    assert [Settings(strategy=NodeStrategy.SPREAD)] == started


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("ftp://a", "not the URL of an API server: 'ftp://a'"),
        ("https://a..b", "not the URL of an API server: 'https://a..b'"),
        (None, "{path}: there is no such file"),
    ],
)
def test_a_kubeconfig_that_leads_nowhere_is_named_with_what_is_wrong(
    tmp_path: Path, server: str | None, problem: str
) -> None:
    path = tmp_path / "config"
    if server is not None:
        path.write_text(KUBECONFIG.format(server=server))
    status, lines = ran("--kubeconfig", str(path))

    assert (2, [f"--kubeconfig: {problem.format(path=path)}"]) == (status, lines)


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG.format(server="http://127.0.0.1:1"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        where = ("--http-host=127.0.0.1", f"--http-port={port}")
        status, lines = ran("--kubeconfig", str(path), *where)

    problem = f"cannot listen on 127.0.0.1:{port}: address already in use"
    assert (2, [f"--http-host, --http-port: {problem}"]) == (status, lines)


def ran(*flags: str) -> tuple[int, list[str]]:
    """Return the exit status of `run`, and what it wrote to stderr beside its log."""
    result = subprocess.run(
        [sys.executable, "-m", "gang_scheduler", "run", *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = result.stderr.splitlines()
    return result.returncode, [line for line in lines if not line.startswith("{")]


def test_help_shows_every_setting_with_its_variable_and_default() -> None:
    command = main.loaded("run")
    options = {each.name: each for each in command.params if isinstance(each, click.Option)}

    missing = [
        name
        for name in Settings.model_fields
        if f"[PGS_{name.upper()}; default: " not in str(options[name].help)
    ]
    assert [] == missing


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], Result]:
    """Give what runs the operator to an error, without the settings of the whole process."""
    monkeypatch.setattr(logs, "configure", lambda _: None)
    monkeypatch.setattr(gc_tuning, "collect_rarely", lambda: None)

    def end(error: Exception) -> Result:
        async def fails(_: Settings) -> None:
            raise ExceptionGroup("of the parts", [error])

        monkeypatch.setattr(app, "main", fails)
        return CliRunner().invoke(main, ["run"])

    return end


def test_a_lost_lease_ends_it_with_one_line_and_no_traceback(
    ends: Callable[[Exception], Result],
) -> None:
    lost = LeadershipLost("the Lease is held by z")
    with capture_logs() as lines:
        result = ends(ExceptionGroup("of a part", [lost]))

    assert (1, "") == (result.exit_code, result.output)
    said = {"event": "leadership_lost", "why": "the Lease is held by z", "log_level": "error"}
    assert [said] == lines


def test_another_error_beside_a_lost_lease_is_reported_in_full(
    ends: Callable[[Exception], Result],
) -> None:
    result = ends(ExceptionGroup("of a part", [LeadershipLost("lost"), KeyError("planted")]))

    assert isinstance(result.exception, ExceptionGroup)


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("--fair-strategy", "--fair-strategies"),
        ("--exclude-resource-prefix", "--exclude-resource-prefixes"),
        ("--gang-kind", "--gang-kinds"),
        ("--manage-job", "--manage-jobs"),
    ],
)
def test_what_is_given_one_by_one_has_a_flag_in_the_singular(singular: str, plural: str) -> None:
    flags = [each.opts for each in main.loaded("run").params]

    assert [plural, singular] in flags


def test_the_error_of_a_misspelt_flag_names_the_near_one() -> None:
    result = CliRunner().invoke(main, ["run", "--fair-strategie", "x"])

    assert 2 == result.exit_code
    assert "'--fair-strategies'" in result.stderr
    assert "'--fair-strategy'" in result.stderr
