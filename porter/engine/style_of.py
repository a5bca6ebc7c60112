"""The class of each style. What the style shim leaves to transfer_to_npu says porter/python/under_shim.py; the rest it writes as
a renaming port."""

from porter.engine.portable import Portable
from porter.engine.styles import Rename

STYLES: dict[str, type[Rename]] = {"rename": Rename, "portable": Portable, "shim": Rename}
