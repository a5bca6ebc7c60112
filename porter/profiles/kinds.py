"""What kind of work an operator or a kernel is, by its name: of CANN, of CUDA libraries, of ATen."""

from __future__ import annotations

from functools import lru_cache

from porter.regex import lazy
from porter.rulebook.table import any_of

# of rules/operators.toml: the first that fits
_ORDER = (
    "operator-compiled", "operator-communication", "operator-attention", "operator-convolution", "operator-matmul", "operator-norm",
    "operator-softmax", "operator-loss", "operator-optimizer", "operator-conversion", "operator-cast", "operator-transpose",
    "operator-copy", "operator-index", "operator-random", "operator-pooling", "operator-reduction", "operator-elementwise",
)  # fmt: skip
_PATTERNS = [(kind.removeprefix("operator-"), lazy(any_of(kind))) for kind in _ORDER]
KINDS = (*(kind for kind, _ in _PATTERNS), "other")
# a kernel of CUDA that copies may change the type or the order on the way, and its name does not say so
_ACROSS = {"cast": "copy", "conversion": "copy", "transpose": "copy"}
_SHORT = 400  # characters of the name of a template


@lru_cache(maxsize=1 << 14)
def kind_of(name: str) -> str:
    text = name[:_SHORT].lower()
    return next((kind for kind, pattern in _PATTERNS if pattern.search(text)), "other")


def across(kind: str) -> str:
    """The kind under which devices of two makers can be compared."""
    return _ACROSS.get(kind, kind)
