"""Asks for the nodes that a gang lacks.

| module      | promise                                  |
|-------------|------------------------------------------|
| provisioner | creates and deletes requests for nodes   |
| bodies      | what the requests say                    |
"""
