"""The page that `simulate` prints, without the command."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import outcome as outcomes
from gang_scheduler.inspection.listing.outcome import Look
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import output_document
from gang_scheduler.simulation.run import Outcome

PIPED = Look()


def page_of(outcome: Outcome, look: Look = PIPED, document: Mapping[str, Any] | None = None) -> str:
    """Return the page of an outcome, read at the epoch; `document` is what it tells, if said."""
    cluster = Cluster(outcome.cache, Policy(), 0, Source.FILES)
    return outcomes.render(document or output_document.document(outcome), outcome, cluster, look)
