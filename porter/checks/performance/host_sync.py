"""`.item()`, `float(t)`, `if t.any():`, `print(t)` for every batch: the host waits until the device has caught up."""

from __future__ import annotations

from typing import Any

from porter.checks.performance import checked, conditions, explicit_waits, gradients, kept_sums, prefilters, syncs
from porter.checks.performance.explicit_waits import told
from porter.engine.rule import Answer, BatchRule, Hit, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import DEFAULT_DEVICE, call_name
from porter.python.index import Link
from porter.python.waits import COPIES, READS
from porter.training import buffers, host_takers, host_values, kinds, made_of_sizes, value_uses, wanted_on_host
from porter.training.dynamic_sizes import SIZE

TELLING = ("set_postfix", "set_description", "add_scalar")
EXTREMES = {"max": "maximum", "min": "minimum"}
BUILTINS = ("float", "int", "bool", "print", *EXTREMES)
HEADERS = ("If", "While", "Assert")


class HostSync(BatchRule):
    code = "PRT630"
    calls = explicit_waits.FUNCTIONS
    methods = (*sorted(READS), *TELLING, "synchronize")
    builtins = BUILTINS
    nodes = HEADERS
    text = (*(rf"\b{word}\(" for word in conditions.READING), *conditions.COMPARED)
    only = staticmethod(prefilters.waits)

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        scene: Any = file.scene
        if type(original).__name__ in HEADERS:
            place = file.scene.link_to(file.statement)
            if place is None or not file.glance(prefilters.waits, place):
                return None
            check = checked.header(scene, place) or conditions.kind(place)
            return Hit(original.test, check) if check else None
        if (link := scene.link(original)) is None or not scene.matters(link) or syncs.is_answer(scene, link):
            return None
        if call_name(link[0]) == "synchronize":
            says = explicit_waits.is_superfluous(scene, link)
            return Hit(original, "synchronised", values=(("name", f"{file.text(original.func)}()"),)) if says else None
        if isinstance(original.func, cst.Name):
            name, values = original.func.value, (("name", f"{original.func.value}()"),)
            if name == "print":
                return told(original, "printed", values, scene, link) if syncs.takes_loss(scene, link) else None
            if name in EXTREMES:
                why = syncs.extreme(scene, link)
                return Hit(original, why, values=(*values, ("new", EXTREMES[name]))) if why else None
            if not syncs.takes_loss(scene, link) and not syncs.number(scene, link):
                return None
            if check := checked.check(scene, link):
                return Hit(original, check)
            return told(original, syncs.purpose(scene, link) or "call", values, scene, link)
        name = original.func.attr.value
        if name in TELLING:
            shows = syncs.shows_loss(scene, link)
            return told(original, "logged", (("name", f".{name}()"),), scene, link) if shows else None
        return self._method(name, original, updated, link, file)

    @staticmethod
    def _method(name: str, original: cst.Call, updated: Any, link: Link, file: RuleFile) -> Hit | None:
        scene: Any = file.scene
        values = (("name", f".{name}()"),)
        if original.args and name != "cpu" or file.receiver(original) == "other":
            return None
        if (
            value_uses.lies_on_host(link)  # x.numpy() alone: it is there, or a GPU would have failed
            or value_uses.waits_again(link)  # loss.cpu().numpy(): told of the last call
            or value_uses.asked_above(link)  # the condition of an `if` around waits for it already
            or kinds.settled(link)  # `if isinstance(n, torch.Tensor): n = n.item()`
        ):
            return None
        if value_uses.made_on_host(scene, link) and not file.source.says(DEFAULT_DEVICE):
            return None
        if host_values.stays(scene, link[0].value, link) or gradients.is_read_of_norm(scene.names, link):
            return None
        if number := made_of_sizes.number_read(scene, link):
            return Hit(original, "given", values=(*values, ("number", number)))
        # the state of a module is no size of a batch: it stays as it is, or grows for all of them
        counts = name in ("item", "tolist") and not buffers.is_buffer(scene, link[0].value, link)
        if counts and (followed := file.tensors.followed(original, SIZE)) is not None:
            why = "compiled" if file.session.compiles else "size"
            return Hit(original, why, values=(*values, *followed), code="PRT601")
        if wanted_on_host.is_wanted(scene, link) or name == "cpu" and value_uses.is_passed_on(link):
            return None
        if not kept_sums.first_wait(scene, link):  # what a statement waits for once is there for the rest of it
            return None
        if check := checked.check(scene, link):
            return Hit(original, check, values=syncs.in_a_row(link, check))
        taker = host_takers.taker(scene, link) if name in COPIES else ""
        if taker:
            if function := host_takers.without_operator(scene, link):
                return Hit(original, "alone", values=(("function", function.rpartition(".")[2]),))
            fed = (*values, ("library", taker))
            return None if taker == host_takers.FILE else told(original, "fed", fed, scene, link)
        why = syncs.purpose(scene, link) or "call"
        after = kept_sums.read_after_loop(scene, link) if why == "summed" and name == "item" else None
        if after is None or not kept_sums.can_be_kept(scene, link):
            clock = kept_sums.clock(link) if after is not None else 0
            why, said = ("timed", (("clock", str(clock)),)) if clock else (why, ())
            more = (*syncs.in_a_row(link, why), *kept_sums.right_below(scene, link), *said)
            return told(original, why, (*values, *more), scene, link)
        value = updated.func.value
        detached = updated.with_changes(func=updated.func.with_changes(attr=cst.Name("detach")))
        if isinstance(value, cst.Call) and getattr(value.func, "attr", cst.Name("x")).value == "detach":
            detached = value
        new = cst.Call(cst.Attribute(detached, cst.Name("float")))
        return Hit(original, "kept", new=new, values=values, more=(after,))
