"""What a file asks of torch_scatter: sums and means are plain torch there, the rest are operators without a kernel for NPUs."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import constant

_PACKAGE = "torch_scatter."
_PLAIN = frozenset({"scatter_add", "scatter_mean", "scatter_std", "scatter_sum"})
_WITH_A_WORD = "scatter"  # it is told by `reduce`, its sixth argument, how to join, and sums where it is not
_WORDS = frozenset({"add", "mean", "sum"})


def needs_kernels(file: RuleFile) -> bool:
    """Whether a file calls something else than sums and means, hands a function on, or calls nothing at all."""
    calls = [
        (link[0], name.removeprefix(_PACKAGE))
        for link in file.buckets[ast.Call]
        if (name := file.names.resolve(link[0].func, link) or "").startswith(_PACKAGE)
    ]
    functions = [call.func for call, _ in calls]
    # `torch_scatter.scatter` ends in an attribute above the name
    others = (use for use in _uses(file) if not any(up[0] in functions for up in (use, use[1]) if up is not None))
    return not calls or not all(_is_plain(*call) for call in calls) or next(others, None) is not None


def _is_plain(call: ast.Call, function: str) -> bool:
    if function != _WITH_A_WORD:
        return function in _PLAIN
    words = [*call.args[5:6], *(k.value for k in call.keywords if k.arg == "reduce")]
    is_spread = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    return not is_spread and all(constant(word) in _WORDS for word in words)


def _uses(file: RuleFile) -> list[Link]:
    """All places with a name that the file imports from the package, or the package itself."""
    names = [name for name, bound in file.names.imports.items() if any(_is_of_package(full) for full, _ in bound)]
    return [use for name in names for use in file.names.spelled(name) if isinstance(use[0].ctx, ast.Load)]


def _is_of_package(full: str) -> bool:
    return f"{full}.".startswith(_PACKAGE)
