"""Names of a project that need the extensions which it builds from CUDA sources."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porter.python.file import File


def is_own(file: File, *names: str, words: Sequence[str] = ()) -> bool:
    """Whether one of the names is such an extension, or a class of torch.autograd.Function that calls one; or whether a chain is
    the `apply` of such a class. `words`: of the chain, last word first."""
    native = file.facts.native
    if words[:1] == ["apply"] and words[-1] in native.applied:
        return True
    # `pkg.backend.run` after `import pkg.backend`: only the chain says which module it is
    if len(words) > 2 and native.functions:
        known_as = dict(native.built.names)
        if any(name in native.exports.get(known_as.get(module, module), ()) for name, module in pairwise(words)):
            return True
    return any(name.rpartition(".")[2] in (*native.modules_near(file.path), *native.applied) for name in names)
