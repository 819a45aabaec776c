"""What must not be: a rule a module, with its source and what it leaves alone on purpose.

| module   | what it judges                                             |
|----------|------------------------------------------------------------|
| capacity | more on a node than it offers                              |
| ports    | two pods with one port of a node                           |
| bindings | a pod bound twice, or while it was deleted, ended or gated |
| quorum   | a gang that is bound in part                               |
| leader   | bindings by two replicas, or without the Lease             |
| due      | cases that are judged later                                |
| table    | all rules                                                  |
"""
