"""Writes what is generated of the chart: `python -m tools.chart [--check]`.

values.schema.json is made of schema.yaml, which is written by hand, of the settings, and of the
alerts in values.yaml; the table in the chart's README is made of that and of values.yaml. The
dashboards are made by `tools.dashboards`. `make chart` runs it; with `--check`
nothing is written and the exit status says whether all is fresh.
"""

from pathlib import Path

CHART = Path(__file__).parents[3] / "charts" / "py-gang-scheduler"
