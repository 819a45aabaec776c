"""Logs and metrics: written by the loop and around it, never by the core.

| module     | promise                                                                 |
|------------|-------------------------------------------------------------------------|
| logs       | where log lines go, ours and those of libraries                         |
| logger     | what writes a line, and imports structlog for the first one             |
| metrics    | the one table of all metrics: name, type, labels, buckets, help, bounds |
| family     | the series of one metric: no more of them than its bounds allow         |
| labels     | what a label may say, and what it says beyond that                      |
| exposition | the text that a scrape reads                                            |
"""
