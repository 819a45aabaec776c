"""The output of `simulate`. Open `report` first."""
