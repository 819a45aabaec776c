"""The only door to the API server: requests, their errors, and the Lease.

`port.Api` is the protocol that the rest of the package uses; `kubernetes` implements it over HTTP,
and `fake` in memory.

| module          | promise                                                       |
|-----------------|---------------------------------------------------------------|
| port            | the protocol of all writes and reads beside the watches       |
| kubernetes      | that protocol on a real API server                            |
| kubeconfigs     | the door to the library that loads a configuration            |
| connection      | which server, which credentials, and requests over a client   |
| address         | the URLs of the server, and of a proxy on the way to it       |
| tls             | how both sides of a connection authenticate                   |
| http            | the protocol of HTTP clients: what a request may have done    |
| http1           | one: HTTP/1.1 as far as short requests to one server need it  |
| aiohttp_client  | another: the session of the watches                           |
| pod_port        | the protocol of requests to pods, of which none is trusted    |
| pod_http        | that protocol over HTTP                                       |
| fence           | writes are sent while this process leads, and take no longer  |
| errors          | what kind an answer is: gone, refused, conflict, throttled;   |
|                 | the caller decides whether to ask again                       |
| request_metrics | counts requests, by verb and resource                         |
| retry           | the default pauses between attempts, with jitter, for all     |
| claim_patches   | the patches that get a claim and a volume bound               |
| merge_patches   | the smallest merge patch from one document to another         |
| leader_election | the Lease: acquire, renew, release                            |
| fake            | an API server in memory, with faults, for tests               |
"""
