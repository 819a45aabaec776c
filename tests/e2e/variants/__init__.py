"""What `explain` says a gang would start with, done to a cluster.

`python -m e2e.variants` does it to random clusters, one after the other on one API server.

| module   | promise                                                                  |
|----------|--------------------------------------------------------------------------|
| __main__ | all proposals for random clusters are carried out, and counted by change |
| trials   | a proposal is carried out on the cluster that it was made for            |
"""
