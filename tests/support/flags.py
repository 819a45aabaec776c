"""The settings that flags of a command give, read as the command line reads them."""

from typing import Any

from gang_scheduler.cli import main
from gang_scheduler.cli.settings_options import settings_of
from gang_scheduler.settings.policy import Policy
from gang_scheduler.settings.run import Settings


def policy_of(*flags: str) -> Policy:
    """Return the settings of `simulate`."""
    return settings_of(Policy, _values("simulate", ("--filename=-", *flags), Policy.model_fields))


def settings_of_run(*flags: str) -> Settings:
    """Return the settings of `run`."""
    return settings_of(Settings, _values("run", flags, Settings.model_fields))


def _values(command: str, flags: tuple[str, ...], names: Any) -> dict[str, Any]:
    params = main.loaded(command).make_context(command, list(flags)).params
    return {name: params[name] for name in names}
