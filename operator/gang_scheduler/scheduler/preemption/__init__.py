"""The choice of pods to evict so that a whole gang fits. Open `evaluator` first.

Which pods may be evicted at all is decided before, in `state/evictable_pods`.
"""
