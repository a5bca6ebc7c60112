"""PRT411: what a file calls that ends in a CUDA kernel of the project. Once for a file and a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.engine.rule import TOGETHER, Hit, IndexRule, named
from porter.engine.rule_file import Link, RuleFile
from porter.native.python_to_kernels import mentions
from porter.native.required import required
from porter.native.uses import uses
from porter.python.evidence import call_name
from porter.python.guards import instead_of_torch
from porter.python.index import FUNCTIONS, parents


class NativeCalls(IndexRule):
    code = "PRT411"

    def look(self, file: RuleFile) -> Iterator[Hit]:
        calls = list(self._calls(file))
        yield from calls
        if not calls and (found := required(file)) and not file.facts.accelerators.also_npu(file.path):
            if not file.awareness.covers_link(found[0]):
                yield Hit(found[0], "imported", values=named(name=found[1]))

    @staticmethod
    def _calls(file: RuleFile) -> Iterator[Hit]:
        facts = file.facts.native
        exports = facts.exports_near(file.path)
        if not exports or not mentions(file.source.utf8, exports) or file.facts.accelerators.also_npu(file.path):
            return
        links = {link[0]: link for link in file.names.uses}
        found = [(links[node], module, name) for node, module, name in uses(file.tree, exports) if node in links]
        methods = {link[0]: _method(link) for link, _, _ in found}
        forwards = {owner for owner, name in filter(None, methods.values()) if name == "forward"}
        for link, module, name in found:
            owner, method = methods[link[0]] or (None, "")
            if method == "backward" and owner in forwards:
                continue  # with the forward in torch operators, autograd has it
            if file.awareness.covers_link(link) or instead_of_torch(link):
                continue
            native = exports[module][name]
            kernel = file.rules.tables.kernel_of_call(module, name, native.kernels)
            called = f"{module}.{name}"
            values = (*named(name=called, kernels=native.kernels, path=native.path), (TOGETHER, called))
            why, severity = kernel.why if kernel else "default", None
            if native.path in facts.spared:  # another way is taken, in more kernels
                why, severity = (why, "slow") if kernel and kernel.has_operator else ("taken", None)
            yield Hit(link, why, values=values, severity=severity)


def _method(link: Link) -> tuple[ast.ClassDef, str] | None:
    """The autograd.Function around a place, and which of its methods."""
    child = link[0]
    for above in parents(link):
        if isinstance(above, ast.ClassDef):
            functions = any(call_name(base).endswith("Function") for base in above.bases)
            return (above, child.name) if functions and isinstance(child, FUNCTIONS[:2]) else None
        child = above
    return None
