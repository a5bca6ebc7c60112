"""A project that is installed in place is imported from the copy that runs, not from the tree that was copied."""

import os
import sys


def moved(path, home, here):
    """A path of the tree at `home` as it is below `here`."""
    inside = os.path.join(home, "")
    if path != home and not path.startswith(inside):
        return path
    return os.path.join(here, path[len(inside) :]) if path != home else here.rstrip(os.sep)


def import_from(here, homes):
    for home in filter(None, homes):
        # a .pth file names a folder; the finder of setuptools names one for each package
        sys.path[:] = [moved(folder, home, here) for folder in sys.path]
        for finder in sys.meta_path:
            module = sys.modules.get(getattr(finder, "__module__", ""))
            for table in (getattr(module, "MAPPING", None), getattr(module, "NAMESPACES", None)):
                if isinstance(table, dict):
                    for name, place in table.items():
                        many = isinstance(place, list)
                        table[name] = [moved(p, home, here) for p in place] if many else moved(place, home, here)
