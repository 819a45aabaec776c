"""Which gang comes first. One policy a file; `profile` says which one is used.

| module            | promise                                                           |
|-------------------|-------------------------------------------------------------------|
| priority_then_age | priority, then groups with a partially bound gang, then their age |
"""
