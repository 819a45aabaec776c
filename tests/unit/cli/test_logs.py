"""`logs` on the command line: what it refuses before it asks a cluster."""

from click.testing import CliRunner

from gang_scheduler.cli import main


def test_one_rank_and_all_exclude_each_other() -> None:
    result = CliRunner().invoke(main, ["logs", "llama", "--rank", "1", "--all"])

    assert (2, "--rank, --all: give one of them\n") == (result.exit_code, result.stderr)


def test_a_rank_is_no_negative_number() -> None:
    result = CliRunner().invoke(main, ["logs", "llama", "--rank=-1"])

    assert 2 == result.exit_code
    assert "--rank" in result.stderr
