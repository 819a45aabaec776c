"""The docs site: what of the project is shown on it beside docs/."""
