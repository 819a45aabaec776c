"""Members that are placed together, and how a group is divided into them.

| module          | promise                                                            |
|-----------------|--------------------------------------------------------------------|
| placement_units | members that share one topology request, or none                   |
| division        | divides groups into units, and looks at requests in all trees      |
"""
