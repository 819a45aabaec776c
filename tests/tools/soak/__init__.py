"""Days of churn in minutes, and how much memory the operator takes meanwhile: `make soak`.

memory    samples of the resident size, and the line through them
"""
