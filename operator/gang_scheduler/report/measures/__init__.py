"""What metrics say of gangs, decisions and the cluster: counted as it changes, shown now and then.

| module    | promise                                                              |
|-----------|----------------------------------------------------------------------|
| measures  | all of them, joined; the part of the operator that shows them        |
| decisions | decisions on gangs, and what came of them                            |
| followed  | how far each gang has come: how many there are, and when a run ended |
| seen      | one gang as it was last looked at                                    |
| cluster   | nodes, and what is used and free on them                             |
"""
