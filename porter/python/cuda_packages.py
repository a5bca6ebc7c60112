"""Finds questions whether a package is there that has CUDA kernels only: `find_spec("bitsandbytes") is not None`.

Such a package can be installed where no GPU is. Together with a question for a GPU, that one keeps an NPU away from it.
"""

from __future__ import annotations

import ast

from porter.python.blocks import once
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, parents, walk
from porter.regex import lazy
from porter.rulebook.table import any_of, hints

_PACKAGES = hints("installs-without-a-gpu") | hints("never-on-an-npu-host")
_NAMED = "|".join(("bnb", any_of("installs-without-a-gpu"), any_of("never-on-an-npu-host")))
# names of functions and flags that say whether one is there: `is_bitsandbytes_available`, `HAS_BNB`
_SAYS = lazy(
    rf"(?i)^_*(?:(?:is|has|have|with)_)?(?P<package>{_NAMED})(?:_is)?_(?:available|installed|exists|imported)$"
    rf"|^_*(?:has|have|with)_(?P<there>{_NAMED})$"
)


def beside(test: ast.BoolOp, question: Node) -> str | None:
    """The package that a condition asks for together with a part of it, which asks for a GPU: where it is not there, the answer
    of that part changes nothing."""
    if isinstance(test.op, ast.Or) and not isinstance(question, ast.UnaryOp):
        return None
    return next((package for value in test.values if value is not question and (package := _asked(value))), None)


@once
def _asked(part: ast.expr) -> str | None:
    """The package that a part of a condition names."""
    for inner in walk(part):
        text = constant(inner)
        if isinstance(text, str) and text.partition(".")[0] in _PACKAGES:
            return text
        if package := _said(getattr(inner, "id", "") or getattr(inner, "attr", "")):
            return package
    return None


def answered(question: Link | None) -> tuple[str, str] | None:
    """The choice of a question for a GPU in a function that says whether such a package can be used."""
    function = next((above for above in parents(question) if isinstance(above, FUNCTIONS[:2])), None)
    package = _said(function.name) if function is not None else ""
    return ("kernel", package) if package else None


def _said(name: str) -> str:
    match = _SAYS.search(name)
    return (match["package"] or match["there"]) if match else ""
