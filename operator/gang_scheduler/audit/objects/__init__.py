"""Objects as the auditor reads them: raw, with sums and selectors of its own.

| module     | promise                           |
|------------|-----------------------------------|
| kinds      | kinds as they stand in manifests  |
| pods       | a pod as it is read here          |
| nodes      | a node as it is read here         |
| selectors  | selectors of labels, nodes and taints |
| quantities | amounts of resources              |
"""
