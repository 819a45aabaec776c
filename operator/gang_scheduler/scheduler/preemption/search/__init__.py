"""The cheapest victims for one preemptor. Open `cheapest` first."""
