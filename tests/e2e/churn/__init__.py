"""Queues whose demand goes up and down on a real API server, and what must hold meanwhile.

| module   | promise                                                    |
|----------|------------------------------------------------------------|
| __main__ | `python -m e2e.churn`: run, say what was seen, and judge it |
| demand   | Jobs that come and go, so that each queue asks for so much |
| verdicts | what must not be: gangs in part, circles, unfair rest      |
"""
