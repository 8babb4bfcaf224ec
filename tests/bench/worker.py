"""A process that does due work when it is told to: ``python -m tests.bench.worker URL FOLDER``.

It says ``ready``; at each line on its input it polls until nothing is due any more, and says how much it did.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.bench.targets import Target
from tests.bench.waypost import Waypost
from webapp.poller import Threads

THREADS = 4


def main() -> None:
    """Work until the input ends."""
    waypost = Waypost.beside(Target("PostgreSQL", sys.argv[1]), Path(sys.argv[2]))
    crew = Threads(THREADS)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(waypost.poll(crew), flush=True)
    crew.close()
    waypost.close()


if __name__ == "__main__":
    main()
