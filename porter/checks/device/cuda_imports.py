"""`from torch.cuda.amp import X`, `import torch.cuda as C`, `from torch import cuda`: moved to the real package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.checks.device import import_parts, waiting
from porter.checks.device.import_parts import Alias, From, counterpart, is_used, lacking, package_of, renamed, split
from porter.checks.device.portable_imports import at_head
from porter.engine.nodes import chain, dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.build_scripts import builds_extensions
from porter.rulebook.table import Tables


class CudaImports(Rule):
    code = "PRT102"
    nodes = ("Import", "ImportFrom")
    text = r"cuda\b"

    def __init__(self, tables: Tables) -> None:
        self.moves = tables.moves

    def visit(self, original: cst.Import | cst.ImportFrom, updated: Any, file: RuleFile) -> Answer:
        if import_parts.lacks_all(original, self.moves, file):
            return None
        if isinstance(original, cst.Import):
            if builds_extensions(file):  # all that it asks of torch stays
                return None
            twin = None if file.style.one_world else at_head(original, file)
            return twin or self._import(original, updated, file)
        if original.relative or original.module is None:
            return None
        module = ".".join(chain(original.module))
        below = module == "torch.cuda" or module.startswith("torch.cuda.")
        if isinstance(original.names, cst.ImportStar):
            return Hit(original, "star") if below else None
        if not file.style.one_world:
            return at_head(original, file)
        if module == "torch":
            return import_parts.from_torch(original, updated, self.moves, file)
        if below and builds_extensions(file):
            return Hit(original, "builds")
        return self._from_cuda(original, updated, module, file) if below else None

    def _import(self, original: cst.Import, updated: cst.Import, file: RuleFile) -> Hit | None:
        """`import torch.cuda` binds `torch`; with `as` it binds the module."""
        names, missing, loads = list(updated.names), [], all(a.asname is None for a in original.names)
        for index, alias in enumerate(original.names):
            full = ".".join(chain(alias.name))
            if full != "torch.cuda" and not full.startswith("torch.cuda."):
                continue
            if alias.asname is None and len(file.names.imports["torch"]) > 1:
                continue  # it binds what another import binds too, and does no harm
            target = package_of(full, file)
            if target is not None:
                names[index] = names[index].with_changes(name=dotted(target) if alias.asname else cst.Name("torch"))
            elif (
                alias.asname and len(names) == 1 and (new := counterpart(full, self.moves, file))
            ):  # a class there: mstx
                package, _, name = new.rpartition(".")
                bound = names[index].with_changes(name=cst.Name(name))
                return Hit(original, "import", new=cst.ImportFrom(module=dotted(package), names=[bound]), safe=True)
            else:
                missing.append(full)
        if missing:
            return lacking(original, missing, self.moves, file)
        if all(a is b for a, b in zip(names, updated.names)):
            return None
        safe = not any(a.asname and waiting.imported(chain(a.asname.name)[0], self.moves, file) for a in original.names)
        return Hit(original, "import", new=updated.with_changes(names=names), safe=safe, loads=loads)

    def _from_cuda(self, original: From, updated: From, module: str, file: RuleFile) -> Iterator[Hit]:
        package = package_of(module, file) or import_parts.home_of(original, module, self.moves, file)
        moved: dict[int, Alias] = {}
        missing, elsewhere, safe = [], [], True
        for index, alias in enumerate(updated.names):
            full = f"{module}.{alias.name.value}"
            move, new = self.moves.get(full), counterpart(full, self.moves, file)
            if move is not None and move.stays:
                continue
            if new is None:
                missing.append(full)
            elif new.rpartition(".")[0] != package:
                elsewhere.append((full, new))
            else:
                moved[index] = renamed(alias, new.rpartition(".")[2])
                safe = safe and (move is None or move.fix == "safe")
        if missing:
            yield lacking(original, missing, self.moves, file)
        if elsewhere:
            names, to = (", ".join(pair[i] for pair in elsewhere) for i in (0, 1))
            yield Hit(original, "elsewhere", values=(("names", names), ("to", to)))
        severity = None if is_used(original, file, moved) else "note"  # the import itself does not fail
        if len(moved) == len(updated.names):
            node = updated.with_changes(module=dotted(package), names=list(moved.values()))
            yield Hit(original, "from", new=node, safe=safe, severity=severity)
        elif moved:
            kept, after = split(updated, moved, package)
            yield Hit(original, "from", new=kept, safe=safe, after=(after,), severity=severity)
