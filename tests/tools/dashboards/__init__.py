"""Dashboards of Grafana as code: `make chart` writes them into the chart.

| module        | promise                                                              |
|---------------|----------------------------------------------------------------------|
| training_jobs | the dashboard for those that run jobs, and for those that share GPUs |
| scheduler     | the dashboard for those that run the scheduler                       |
| panels        | what panels have in common                                           |
| queries       | every query of dashboards and alerts, and the metrics that it names  |
"""
