"""Gives the class of each style in STYLES of porter/target.py, in the same order; a test compares both. Modules above also ask
`target.style` by name. porter/python/under_shim.py says what the style shim leaves to transfer_to_npu; the rest it writes as the style
rename does."""

from porter.engine.portable import Portable
from porter.engine.styles import Rename

STYLES: dict[str, type[Rename]] = {"rename": Rename, "portable": Portable, "shim": Rename}
