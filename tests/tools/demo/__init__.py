"""The demo on real API servers, and examples/ on a local control plane.

    __main__     run, up, down: what `make demo`, `make up` and `make down` call
    stages       where the story of the package is told: a real control plane, kind, or any cluster
    cluster      the nodes of examples/clusters, our CRDs and the operator
    examples     the directories of examples/, and what is expected of each
    differences  how things stand against that
    placements   which pod is where: read from the API server

tests/e2e/test_examples.py runs all examples on the cluster of `make up`.
"""
