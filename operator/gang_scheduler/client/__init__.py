"""The only access to the API server: requests, their errors, and the Lease.

Open `interfaces` first: its `Api` is the protocol that the rest of the package uses. `kubernetes`
implements it over HTTP, and `fake` in memory.
"""
