"""Which pods are evicted so that a whole gang fits. Open `evaluator` first."""
