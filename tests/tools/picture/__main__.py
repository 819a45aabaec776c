"""`python -m tools.picture FILE`: run the story on a real API server, and draw it."""

import sys
from pathlib import Path

from tools.picture import drawing, recording


def main() -> int:
    """Record and draw; return the exit status."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/gangs.svg")
    frames = recording.record(lambda line: print(line, file=sys.stderr, flush=True))
    target.write_text(drawing.svg(frames))
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
