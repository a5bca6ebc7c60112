"""A dozen rules over a whole file: one LibCST transformer, metadata for everything, no index and no pieces.

It shares with porter the tables (what a name becomes) and the catalogue (what exists), and no code.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst
from libcst.metadata import ImportAssignment

from .scopes import Resolver, words

DEVICE_CALLS = {"torch.device": 0, "torch.set_default_device": 0, "torch.Generator": 0}
GROUP_CALLS = {"torch.distributed.init_process_group": 0}
# what `x.cuda()` is a function of, and not a method
MODULES = ("torch", "torch_npu", "apex", "amp_C", "torchvision", "torchaudio")


@dataclass(frozen=True, order=True)
class Seen:
    line: int
    column: int
    code: str
    ported: bool


@dataclass
class Answer:
    seen: list[Seen] = field(default_factory=list)
    code: str = ""


class Plain(cst.CSTTransformer):
    def __init__(self, resolver: Resolver, moves, has, methods: bool):
        super().__init__()
        self.r, self.moves, self.has, self.methods = resolver, moves, has, methods
        self.answer = Answer()
        self.inner: set[cst.CSTNode] = set()
        self.part: dict[cst.CSTNode, cst.Attribute] = {}

    def see(self, node, code: str, ported: bool = True) -> None:
        self.answer.seen.append(Seen(*self.r.place(node), code, ported))

    # ---- imports

    def package(self, name: str) -> str | None:
        new = "torch_npu.npu" + name.removeprefix("torch.cuda")
        return new if self.has(new) else None

    def visit_Import(self, node) -> bool:
        return False

    visit_ImportFrom = visit_Import

    def leave_Import(self, node, updated):
        names, gone, changed = [], False, False
        again = sum(isinstance(a, ImportAssignment) for a in self.r.assigned.get("torch", ())) > 1
        for alias in node.names:
            full = alias.evaluated_name
            harmless = alias.asname is None and again  # another import binds the same name
            if not harmless and (full == "torch.cuda" or full.startswith("torch.cuda.")):
                new = self.package(full)
                gone |= new is None
                changed = True
                alias = alias.with_changes(
                    name=cst.parse_expression(new or full) if alias.asname else cst.Name("torch")
                )
            names.append(alias)
        if not changed:
            return updated
        self.see(node, "PRT102", not gone)
        return updated if gone else updated.with_changes(names=names)

    def leave_ImportFrom(self, node, updated):
        module = ".".join(words(node.module)) if node.module else ""
        if node.relative or not (module == "torch.cuda" or module.startswith("torch.cuda.")):
            return updated
        if isinstance(node.names, cst.ImportStar):
            self.see(node, "PRT102", False)
            return updated
        package, names, gone = self.package(module), [], False
        for alias in node.names:
            move = self.moves.get(f"{module}.{alias.name.value}")
            new = f"torch_npu.npu.{move.tail}" if move and move.tail else None
            new = self.package(f"{module}.{alias.name.value}") if move is None else new
            if new is None or package is None or not self.has(new) or new.rpartition(".")[0] != package:
                gone = True
                continue
            last = new.rpartition(".")[2]
            asname = alias.asname or (cst.AsName(cst.Name(alias.name.value)) if last != alias.name.value else None)
            names.append(alias.with_changes(name=cst.Name(last), asname=asname))
        self.see(node, "PRT102", not gone)
        return updated if gone else updated.with_changes(module=cst.parse_expression(package), names=names)

    # ---- names below torch.cuda

    def visit_Attribute(self, node) -> None:
        if node in self.inner:
            return
        chain = [node]
        while isinstance(chain[-1], cst.Attribute):
            chain.append(chain[-1].value)
        self.inner.update(chain[1:])
        full = self.r.name(node)
        if full is None or not full.startswith("torch.cuda"):
            return
        for part in chain[:-1]:
            if full in self.moves:
                self.part[part] = full
                return
            full = full.rpartition(".")[0]
        full = self.r.name(node)
        if full == "torch.cuda" or full.startswith("torch.cuda."):
            self.part[node] = full

    def leave_Attribute(self, node, updated):
        full = self.part.get(node)
        if full is not None:
            return self.name(node, updated, full)
        if self.methods and node.attr.value == "is_cuda" and self.object(node.value):
            self.see(node, "PRT132")
            return updated.with_changes(attr=cst.Name("is_npu"))
        return updated

    def name(self, node, updated, full: str):
        chain = words(node)
        if full == "torch.cuda":
            if len(chain) == 2:
                self.see(node, "PRT109")
                return updated.with_changes(attr=cst.Name("npu"))
            return updated
        move = self.moves.get(full)
        if move is None:
            self.see(node, "PRT104", False)
            return updated
        if move.tail is None:
            self.see(node, move.code, False)
            return updated
        new = f"torch.npu.{move.tail}"
        if not self.has(new):
            self.see(node, "PRT104", False)
            return updated
        old, parts = full.split("."), new.split(".")
        behind = len(chain) - 1  # words behind the one that an import binds
        if old[-behind:] == parts[-behind:]:  # its import or alias says it all
            return updated
        self.see(node, move.code, move.fix == "safe")
        if move.fix != "safe":
            return updated
        if len(old) == len(parts):
            words_now = [chain[0], *parts[-behind:]]
            step, steps = updated, []
            while isinstance(step, cst.Attribute):
                steps.append(step)
                step = step.value
            for layout, word in zip(reversed(steps), words_now[1:]):
                step = layout.with_changes(value=step, attr=cst.Name(word))
            return step
        made = cst.parse_expression(".".join([chain[0], *parts[1:]]))
        return made.with_changes(lpar=updated.lpar, rpar=updated.rpar)

    def visit_If(self, node) -> None:
        """What leads to DataParallel alone is asked as before: no NPU has it."""
        lines = getattr(node.body, "body", ())
        small = lines[0].body[0] if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine) else None
        made = small.value if isinstance(small, (cst.Return, cst.Assign)) else None
        if isinstance(made, cst.Call) and words(made.func)[-1:] == ["DataParallel"]:
            asked = list(_attributes(node.test))
            self.inner.update(asked)
            for one in asked:
                if (full := self.r.name(one)) in self.moves:
                    self.see(one, self.moves[full].code, False)

    # ---- methods and arguments

    def object(self, node) -> bool:
        full = self.r.name(node)
        return full is None or full.partition(".")[0] not in MODULES

    def leave_Call(self, node, updated):
        full, func = self.r.name(node.func), node.func
        args = list(updated.args)
        for at, arg in enumerate(node.args):
            device = full in DEVICE_CALLS and at == DEVICE_CALLS[full] and not arg.keyword
            device |= bool(arg.keyword) and arg.keyword.value == "device" and bool(full) and full.startswith("torch.")
            group = full in GROUP_CALLS and (
                bool(arg.keyword) and arg.keyword.value == "backend" or not arg.keyword and at == 0
            )
            if isinstance(func, cst.Attribute) and func.attr.value == "to" and full is None:
                device |= at == 0 and not arg.keyword
            if arg.star or not isinstance(arg.value, cst.SimpleString):
                continue
            text = arg.value.raw_value
            if (
                device
                and "b" not in arg.value.prefix
                and (text == "cuda" or text[:5] == "cuda:" and text[5:].isdecimal())
            ):
                args[at] = self.string(arg, args[at], "PRT120", "npu" + text[4:])
            elif group and text == "nccl":
                args[at] = self.string(arg, args[at], "PRT201", "hccl")
        if args != list(updated.args):
            updated = updated.with_changes(args=args)
        if self.methods and isinstance(func, cst.Attribute) and func.attr.value == "cuda" and self.object(func.value):
            self.see(node, "PRT130")
            word = "to" if _is_device(node) else "npu"
            updated = updated.with_changes(func=updated.func.with_changes(attr=cst.Name(word)))
        return updated

    def string(self, arg, made, code: str, text: str):
        self.see(arg.value, code)
        value = arg.value
        return made.with_changes(value=value.with_changes(value=f"{value.prefix}{value.quote}{text}{value.quote}"))


def _is_device(call) -> bool:
    """Of `x.cuda(device)`: a module's `npu()` takes an index and nothing else."""
    given = next((a.value for a in call.args if a.keyword is None or a.keyword.value == "device"), None)
    word = getattr(getattr(given, "attr", given), "value", "")
    text = isinstance(given, (cst.SimpleString, cst.FormattedString))
    return text or isinstance(word, str) and word.rpartition("_")[2] == "device"


def _attributes(node):
    """`matchers.findall` finds them as well, at half a second of import."""
    if isinstance(node, cst.Attribute):
        yield node
    for child in node.children:
        yield from _attributes(child)


def answer(data: bytes, moves, has, methods: bool) -> Answer:
    """Findings of the dozen rules, and the text with every automatic edit made; no import is inserted. Of receivers it
    knows nothing: `methods` says whether whatever has a `cuda` may be taken for torch's."""
    plain = Plain(Resolver(cst.parse_module(data)), moves, has, methods)
    plain.answer.code = plain.r.module.visit(plain).bytes
    return plain.answer
