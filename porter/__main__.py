"""`porter`, and `python -m porter`."""

from __future__ import annotations

import atexit
import gc
import sys

from porter import __version__
from porter.exits import INTERRUPTED


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"porter {__version__}")  # a hook asks on every commit: before anything is imported
        return
    from porter.collector import THRESHOLD

    gc.set_threshold(*THRESHOLD)  # imports make few cycles: a fifth of a short run was looking for them
    atexit.register(gc.freeze)  # the interpreter looks once more when it ends
    try:
        from porter.cli.app import main as run

        sys.exit(run())
    except KeyboardInterrupt:  # while it was still being imported
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
