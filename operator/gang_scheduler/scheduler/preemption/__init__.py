"""The choice of pods to evict so that a whole gang fits. Open `evaluator` first."""
