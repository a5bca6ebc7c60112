"""`from torch.profiler import profile, ProfilerActivity`: what the NPU's profiler has comes from torch_npu.profiler.

`needed` says whether the file may record a device. It goes by resolved names, and a name that a star brings resolves to nothing: so
`from torch.profiler import *` is passed over, and a message for it would need another question than `needed`.
"""

from __future__ import annotations

from porter.checks.device.import_parts import From, renamed, split
from porter.checks.graphs.profiler_use import MOVED, OLD, doubt, needed, package
from porter.engine.nodes import chain, dotted
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class ProfilerImports(Rule):
    code = "PRT506"
    nodes = ("ImportFrom",)
    text = r"\btorch\.profiler\b"

    def visit(self, original: From, updated: From, file: RuleFile) -> Answer:
        module = ".".join(chain(original.module)) if original.module is not None and not original.relative else ""
        if module not in (OLD, f"{OLD}.profiler") or isinstance(original.names, cst.ImportStar) or not needed(file):
            return None
        space = package(file)
        moved = {
            index: renamed(updated.names[index], alias.name.value)
            for index, alias in enumerate(original.names)
            if alias.name.value in MOVED and file.session.has(f"{space}.{alias.name.value}")
        }
        if not moved:
            return None
        values = (("names", ", ".join(original.names[index].name.value for index in moved)), ("to", space))
        if (why := doubt(file)) == "results":
            return Hit(original, why, values=(*values, (TOGETHER, why)))  # what it is there for would be gone
        new = updated.with_changes(module=dotted(space), names=list(moved.values()))
        after: tuple[str, ...] = ()
        if len(moved) < len(original.names):
            new, below = split(updated, moved, space)
            after = (below,)
        return Hit(original, why or "import", new=new, safe=why is None, after=after, values=values)
