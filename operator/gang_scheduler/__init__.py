"""A Kubernetes scheduler for gangs of pods: all of them start, close together, or none does.

The folders are the steps of the data, Kubernetes -> client -> watch -> decode -> state ->
scheduler -> apply -> report -> Kubernetes; pyproject.toml has the layers, which import-linter
enforces. Open `app` first, or `scheduler/cycle` for the decisions.
"""

__version__ = "0.2.0"
