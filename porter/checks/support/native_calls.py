"""PRT411: what a file calls that ends in a CUDA kernel of the project. Once for a file and a function."""

from __future__ import annotations

from collections.abc import Iterator

from porter.engine.rule import Hit, IndexRule, named
from porter.engine.rule_file import RuleFile
from porter.native.python_to_kernels import mentions
from porter.native.required import required
from porter.native.uses import uses


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
        exports = file.facts.native.exports
        if not exports or not mentions(file.source.utf8, exports) or file.facts.accelerators.also_npu(file.path):
            return
        links = {link[0]: link for link in file.names.uses}
        reported = set()
        for node, module, name in uses(file.tree, exports):
            link = links.get(node)
            if link is None or (module, name) in reported or file.awareness.covers_link(link):
                continue
            reported.add((module, name))
            native = exports[module][name]
            kernel = file.rules.tables.kernel(f"{module}_{name}", native.kernels)
            values = named(name=f"{module}.{name}", kernels=native.kernels, path=native.path)
            yield Hit(link, kernel.why if kernel else "default", values=values)
