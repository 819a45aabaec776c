"""Snapshots: a cluster in a file, for bug reports. They have what decisions depend on alone.

| module     | what it holds                                                          |
|------------|------------------------------------------------------------------------|
| shapes     | what is read of a kind, made of the types that its reader decodes into |
| whitelist  | what is written of each kind                                           |
| recording  | the lines of objects, made while a cache is filled with them           |
| taking     | snapshots of an API server, and of files                               |
| tenants    | what one namespace may know of all others                              |
| words      | pseudonyms of words, in the order of the words                         |
| numbers    | pseudonyms of addresses and of numbers of many digits                  |
| api_words  | values of fields that are the same in every cluster                    |
| vocabulary | what no pseudonym stands for                                           |
| pseudonyms | which texts become pseudonyms, and which stay                          |
| files      | what is in a file, and how it is written                               |
| verifying  | whether a file is decided as the cluster that it was made of           |
"""
