"""An API server in Python with its objects in memory, for the demo and for quick tests.

| module      | promise                                                                    |
|-------------|----------------------------------------------------------------------------|
| server      | the HTTP server: paths, bodies, answers, watches                           |
| discovery   | what is served, as clients ask for it before they ask for objects          |
| tables      | objects as `kubectl get` shows them                                        |
| objects     | the verbs on objects: create, replace, patch, delete                       |
| preparing   | what is checked and filled in before an object is stored                   |
| structural  | the schemas of CRDs: what they drop, fill in and refuse                    |
| pods        | what is special about pods: defaults, binding, eviction                    |
| patches     | JSON and strategic merge patches                                           |
| selection   | selectors of labels and fields                                             |
| changes     | what has changed, for watches that begin at any version                    |
| kinds       | the kinds that are served, with those of CRDs                              |
| controllers | the controllers of Jobs, owners, namespaces, budgets and volumes; kubelets |
| refusals    | what is refused, as a Status                                               |

Start with `server`. The objects are in the store of `client.fake`: the fake client and this server
are two doors of one cluster. A request that it does not know it refuses (404, 405, 415, 501). It
has no rights, no TLS and no rules in CEL, so it proves nothing about those: the contract tests hold
for what it does.
"""
