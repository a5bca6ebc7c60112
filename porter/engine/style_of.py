"""Names the class of each style."""

from porter.engine.portable import Portable
from porter.engine.styles import Rename

STYLES: dict[str, type[Rename]] = {"rename": Rename, "portable": Portable}
