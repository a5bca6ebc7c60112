"""`.item()`, `.cpu()`, `float(t)`, `print(t)` for every batch: the host waits until the device has caught up."""

from __future__ import annotations

from porter.checks.rule import Hit, Rule, cst
from porter.python import handed
from porter.python.dynamic import SIZE

METHODS = ("item", "tolist", "numpy", "cpu")
BUILTINS = ("float", "int", "bool", "print")


class HostSync(Rule):
    code, slug = "PRT630", "host-sync"
    methods = METHODS
    builtins = BUILTINS
    only = "sync"

    def visit(self, original, updated, file):
        scene, link = file.scene, file.scene.link(original)
        if link is None or not scene.matters(link) or scene.is_answer(link):
            return None
        if isinstance(original.func, cst.Name):
            name = original.func.value
            if len(original.args) == 0 or not scene.hands_loss(link):
                return None
            return Hit(original, "printed" if name == "print" else "call", values=(("name", f"{name}()"),))
        if original.args and original.func.attr.value != "cpu" or file.receiver(original) == "other":
            return None
        if handed.made_on_host(scene, link) and b"set_default_" not in file.source.utf8 or handed.asked_above(link):
            return None
        if handed.settled_by_kind(link):
            return None
        values = (("name", f".{original.func.attr.value}()"),)
        if original.func.attr.value in ("item", "tolist") and (said := file.followed(original, SIZE)) is not None:
            return Hit(original, "compiled" if file.compiles else "size", values=(*values, *said), code="PRT601")
        if (
            scene.waits_again(link)
            or scene.is_wanted_there(link)
            or original.func.attr.value == "cpu"
            and scene.is_passed_on(link)
        ):
            return None
        if not scene.first_wait(link):  # what a statement waits for once is there for the rest of it
            return None
        return Hit(original, "call", values=values)
