"""`python -m monitoring.hour FILE`: play the hour, and write its scrapes into a file.

In a process of its own, since the time and the metrics are of the whole process.
"""

import sys
from pathlib import Path

from monitoring.hour import clock

# Parts of the operator take their clock when they are imported.
clock.fake()

from monitoring.hour.play import play  # noqa: E402

play(Path(sys.argv[1]))
