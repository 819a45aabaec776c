"""The scheduler without a cluster: manifests in, decisions out, by the code that `run` calls.

| module     | promise                                                                    |
|------------|----------------------------------------------------------------------------|
| syntax     | text to JSON values, YAML read as kubectl reads it                         |
| documents  | FILE, DIR or - to documents, with their places for messages                |
| snapshot_files | the header and the lines of a snapshot                                 |
| stored     | the objects of a snapshot, as they were in their cluster                   |
| kinds      | which kinds and versions are known, and which spelling is a mistake        |
| skipped    | objects of other kinds, and which of them lack their pods                  |
| in_vain    | what workloads ask for that nothing reads of them on a cluster             |
| objects    | the objects of the input, or all that is wrong with them                   |
| reading    | from documents to objects, and the checks around it                        |
| found      | an object of the input before it is read, and what it is read to           |
| readers    | the table kind -> reader, with what an API server would fill in and refuse |
| completed  | what manifests leave open: an age, and a schedulerName                     |
| defaults   | what an API server would have filled in: names, uids, times, schedulerName |
| networks   | topologies of the input                                                    |
| volumes    | claims and volumes as controllers would leave them                         |
| remarks    | what is said of the input on stderr                                        |
| filling    | fills a cache, as the watches would                                        |
| described  | which gangs answers are about                                              |
| run        | decides, applies, decides again                                            |
| validation | what an API server refuses in a manifest, and the fields that it drops      |
| output     | what is printed: the document, the tables, the trees, what waits           |
"""
