"""The parts of the operator, built of its settings and joined.

| module    | promise                                                         |
|-----------|-----------------------------------------------------------------|
| building  | all parts, joined                                               |
| shared    | what most of them share                                         |
| applying  | those that carry decisions out                                  |
| reporting | those that tell of them                                         |
"""
