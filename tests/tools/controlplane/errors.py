"""What can go wrong while a control plane is built, started or used."""

from pathlib import Path

LOG_TAIL_LINES = 20


class ControlPlaneError(RuntimeError):
    """The control plane cannot do what was asked; the text says what to do about it."""


class ComponentDied(ControlPlaneError):  # noqa: N818 - reads as the event it reports.
    """A component ended by itself; carries the end of its log."""

    def __init__(self, name: str, exit_code: int, log: Path) -> None:
        self.name = name
        self.exit_code = exit_code
        self.log_tail = tail(log)
        super().__init__(
            f"{name} ended with code {exit_code}; the end of its log:\n{self.log_tail}"
        )

    @property
    def port_was_taken(self) -> bool:
        """Say whether another process had the port: worth another try with another one."""
        return "address already in use" in self.log_tail


def tail(log: Path, lines: int = LOG_TAIL_LINES) -> str:
    """Return the last lines of a log, or a remark that there is none."""
    if not log.exists():
        return "(no log was written)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
