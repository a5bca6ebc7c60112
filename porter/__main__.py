"""`porter`, and `python -m porter`."""

from __future__ import annotations

import sys

from porter import __version__


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"porter {__version__}")  # a hook asks on every commit: before anything is imported
        return
    from porter.cli.app import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
