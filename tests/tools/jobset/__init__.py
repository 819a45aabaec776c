"""JobSets without their controller: a CRD, and a stand-in that creates the Jobs of JobSets.

Installed by tests, and by `make up WITH=jobset`.
"""
