"""What is known of one gang, as a document and as text: why it waits, or where it runs.

| module    | what it holds                                                       |
|-----------|---------------------------------------------------------------------|
| answers   | the answer for a NAME: open it first                                |
| names     | what a NAME stands for                                              |
| gangs     | the document of a gang, whatever state it is in                     |
| strangers | pods and PodGroups that are no gang of ours                         |
| parts     | the parts of an explanation, as JSON values                         |
| running   | where a gang runs, since when, and which gangs could evict it       |
| sentences | the first sentence: one cause, and the number that is short         |
| needs     | what is to be created or mended first, and whose turn that is       |
| hints     | which members are missing, and which names may be meant             |
| wording   | how names, amounts and times read                                   |
| history   | what happened to a gang, from what is written and from Events       |
| written   | the answer for those with the right to one namespace alone          |
| text      | the document for people                                             |
| lines     | the lines of each part of the text                                  |
| quota_lines | the lines on quota                                                |
| eviction_lines | the lines on evictions                                         |
| variant_lines | the lines on changes that would start a gang                    |
| running_lines | the lines of a gang that runs                                   |
"""
