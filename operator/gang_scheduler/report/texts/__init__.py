"""The words for reasons and causes. All that people read of a decision is said here.

| module        | promise                                                                |
|---------------|------------------------------------------------------------------------|
| messages      | the text of a refusal ("0/12 nodes are available: ..."), and of others |
| room_texts    | its first sentences: what is short, and whether it ever fits           |
| needs_texts   | of members that are alike: "Needs 7 nodes with 8 free nvidia.com/gpu"  |
| cause_texts   | a line for each cause that is not about room, such as invalid input    |
| causes        | these lines, a table a subject                                         |
| elastic_texts | the workers of elastic gangs, in their status and Events               |
| degraded_texts | what a gang lacks since nodes have failed, in its condition and Events |
| plurals       | numbers of things                                                      |
| node_ranges   | names of nodes in short                                                |
| reasons       | what every reason means, and what to do: of docs/reasons.md            |
| shortening    | names that are too long for their place                               |
| near_names    | pods that misspell the name of a PodGroup without members              |
| foreign_members | whose the members are that another scheduler is to place             |
"""
