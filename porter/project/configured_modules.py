"""Whether modules of Lightning keep more than plain values as hyperparameters, because hydra makes them: `_partial_: true` below
`_target_: src.net.Net` becomes a functools.partial, and a list one of OmegaConf. `save_hyperparameters` puts them into checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from porter.regex import lazy

_KEEPS, _MAKES = b"save_hyperparameters(", b"instantiate("
_CLASS = lazy(rb"(?m)^class[ \t]+(\w+)")
_TARGET = lazy(rb"(?m)^_target_[ \t]*:[ \t]*[\"']?[\w.]*\.(\w+)")
_HELD = lazy(rb"(?m)^[ \t]+_partial_[ \t]*:[ \t]*[Tt]rue|^\w+[ \t]*:[ \t]*(?:\[|\r?\n[ \t]*- )")


def keeps_configured(sources: Mapping[str, bytes], files: Iterable[str], read: Callable[[str], bytes | None]) -> bool:
    """`files`: all of the project, of which settings are read where sources leave it open."""
    keepers = {name for text in sources.values() if _KEEPS in text for name in _CLASS.findall(text)}
    if not keepers or not any(_MAKES in text and b"hydra" in text for text in sources.values()):
        return False
    settings = (read(path) or b"" for path in files if path.endswith((".yaml", ".yml")))
    return any(not keepers.isdisjoint(_TARGET.findall(text)) and _HELD.search(text) is not None for text in settings)
