"""What commands that read have in common: their options, and the cluster that these mean.

| module  | what it holds                       |
|---------|-------------------------------------|
| asking  | common options of commands          |
| given   | settings that are given to these    |
| sources | the cluster that these options mean |
"""
