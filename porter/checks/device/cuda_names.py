"""Everything below `torch.cuda`: moved by the tables, explained by them, or unknown to them and therefore reported."""

from __future__ import annotations

from typing import Any

from porter.checks.device import waiting
from porter.checks.device.author_names import Mention, module, spelled
from porter.checks.device.counted_batches import counted_by
from porter.checks.device.dynamic_name import LOOKUPS
from porter.checks.device.fakes import left
from porter.checks.device.stream_handle import is_pointer
from porter.checks.device.summarised import is_summarised
from porter.checks.device.typed_tensor import SETTER, TypedTensor, is_left
from porter.engine.nodes import chain
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst, named
from porter.engine.rule_file import RuleFile
from porter.native.gpu_tests import needed
from porter.python.autocast_states import given_state
from porter.python.build_scripts import BUILDER, builds_extensions
from porter.python.caught_again import is_caught_again
from porter.python.headless import left_beside
from porter.python.held_questions import QUESTIONS
from porter.python.kernel_switches import reports
from porter.python.library_indices import taker
from porter.python.parallel_choices import logged_beside, one_device
from porter.python.provider_choices import why_kept
from porter.rulebook.table import Move, Tables


class CudaNames(Rule):
    code = "PRT104"  # of what is unknown or absent; the others have the code of their row, or PRT101, PRT109, PRT110
    prefixes = {"torch.cuda"}

    def __init__(self, tables: Tables) -> None:
        self.moves = {name: row for name, row in tables.moves.items() if not name.startswith("torch_npu.")}
        self.parameters, self.references = tables.parameters, frozenset(self.moves)

    def visit(self, original: Mention, updated: Mention, file: RuleFile) -> Answer:
        name = file.name(original) or ""
        if name in self.moves:
            return self._move(self.moves[name], name, original, updated, file)
        if name == "torch.cuda":
            if file.around.looked_up(original, LOOKUPS):
                return None  # PRT108 answers the call as a whole
            return left(original, self.moves, file) or module(
                original, updated, waiting.given(original, self.moves, file), file
            )
        if isinstance(original, cst.Name):  # the import says it once for all uses
            return None
        if file.around.is_set(original) or file.facts.own.sets(name):  # the project's own, whoever reads it
            return None
        return Hit(original, "unknown", values=(("name", name),))

    def _move(self, move: Move, name: str, original: Mention, updated: Mention, file: RuleFile) -> Hit | None:
        if move.code == TypedTensor.code and file.around.is_within(original, SETTER):
            return None  # PRT106 answers that call as a whole
        if move.stays and len(chain(original)) > name.count("."):
            return None
        weight: dict[str, Any] = {"code": move.code, "severity": move.severity, "effort": move.effort}
        new = file.style.name(move.tail, name.removeprefix("torch.cuda."), file) if move.tail else None
        tail = name.removeprefix("torch.cuda.") if move.stays else move.tail  # behind an alias that is ported
        values = (("name", name), ("to", new or (f"{file.target.namespace}.{tail}" if tail else "")))
        link = file.link(original)
        if is_pointer(name, link) or new is None and (isinstance(original, cst.Name) or file.around.is_set(original)):
            return None  # PRT134 or the import explains it; or it is put in its place for readers, who are told
        if new is None:  # there is nothing like it, the target lacks it, or only the style has no spelling for it
            if move.code == "PRT110" and builds_extensions(file):
                return Hit(original, "kernel", values=named(name=name, what=BUILDER), code="PRT101")
            if move.code == "PRT110" and file.meaning.capability(original):
                return Hit(original, "shielded", values=values, code=move.code)
            known = not move.stays and (move.tail is None or file.session.has(f"{file.target.namespace}.{move.tail}"))
            once = ((TOGETHER, name),) if move.code == "PRT105" else ()  # it is decided once for a file
            if known and move.code == "PRT105" and is_caught_again(link):
                return Hit(original, "caught", values=values, code=move.code)
            told = Hit(original, move.why, values=(*values, *once), **weight)
            return told if known else Hit(original, "absent", values=values)
        if end := needed(file, link):
            return Hit(original, "tested", values=(("name", name), ("what", end), (TOGETHER, end)), code="PRT101")
        if is_summarised(file, link):
            return Hit(original, "summarised", values=(("name", name),), code="PRT101")
        if len(chain(original)) > 3 and (asked := given_state(file, link)):
            return Hit(original, "autocast", values=(("name", name), ("what", asked)), code=move.code)
        if library := taker(file, name, link):
            return Hit(original, "of-a-library", values=(("name", name), ("library", library)), code="PRT101")
        if left_here := left_beside(file, name, link):
            values = (("name", name), ("what", left_here))
            return Hit(original, "headless", values=values, code="PRT101", severity=move.severity, effort=move.effort)
        if name in QUESTIONS and (asker := file.meaning.asked_for(original)):
            return Hit(original, why_kept(link, asker, file), values=named(name=name, library=asker), code=move.code)
        if move.code == TypedTensor.code and (parallel := one_device(file, link)):
            return Hit(original, "one-device", values=(("name", name), ("what", parallel)), code="PRT101")
        if name in QUESTIONS and (parallel := logged_beside(file, link)):
            return Hit(original, "one-device", values=(("name", name), ("what", parallel)), code="PRT101")
        decided = file.meaning.decides(original) if name in QUESTIONS or reports(file) else None
        decided = decided or counted_by(file, name, link)
        if decided and (decided[0] not in ("together", "opens") or is_left(decided[1], file)):
            return Hit(original, decided[0], values=(("name", name), ("what", decided[1])), code=move.code)
        capability = file.meaning.capability(original) if name in QUESTIONS or name.endswith("_properties") else None
        if capability in ("version", "capability"):
            return Hit(original, capability, values=(("name", name),), code=move.code)
        if capability == "field":
            return Hit(original, "field", code="PRT110", values=values)
        node = spelled(original, updated, name, new, file.target.namespace)
        if isinstance(original, cst.Name) or node is None:  # ported by the import or alias that binds it
            return None
        why, what = (decided[0], (("what", decided[1]),)) if decided else (move.why, ())
        row = self.parameters.get(name)  # more positional arguments than mean the same on the other side
        misplaced = (
            row is not None and row.positional is not None and file.around.positionals(original) > row.positional
        )
        waits = decided or misplaced or waiting.inside(original, self.moves, file)
        waits = waits or waiting.imported(chain(original)[0], self.moves, file)
        safe, values = move.fix == "safe" and not waits, (*values, *what)
        return Hit(original, why, new=node or None, safe=safe, values=values, loads=True, **weight)
