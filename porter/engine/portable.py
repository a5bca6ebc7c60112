"""Writes ports that run on GPUs and NPUs: the ported program finds its device when it runs.

Where `_NAMES` has a function, the port calls that of torch.accelerator. Else it uses names that are bound at the head of the module.
From torch 2.7 on they are bound by

    accelerator_type = getattr(torch.accelerator.current_accelerator(), "type", "cuda")
    accelerator_module = torch.get_device_module(accelerator_type)
    accelerator_backend = {"npu": "hccl", "xpu": "xccl"}.get(accelerator_type, "nccl")

On a GPU, and without any accelerator, they are "cuda", torch.cuda and "nccl", so that each place means the same as before. So
are they on Macs, where the project uses names or numbers that torch.mps lacks, and on Macs and XPUs that the project has code of its
own for (project/left_accelerators.py): then the questions for a device go to the module, which these machines answer with no:
`accelerator_module.is_available()`, `accelerator_module.device_count()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from porter.engine.nodes import chain, dotted, moved_to
from porter.engine.rule import cst
from porter.engine.styles import Rename, knows_bare_device
from porter.regex import lazy
from porter.target import Target

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile

TYPE, MODULE, BACKEND = "accelerator_type", "accelerator_module", "accelerator_backend"
KINDS = ("mps", "xpu")  # types of accelerators that may be left to the code, in the order in which a head names them
# that of torch 2.6 raises where there is no accelerator, and asks the driver: before 2.7, the head of a module tries to import
# torch_npu, and no port asks torch.accelerator
SINCE = (2, 7)
# names of torch.cuda, and those of torch.accelerator. Streams are asked of the module: that of torch.accelerator is a torch.Stream,
# which has no `cuda_stream` and does not wait for an event of torch.cuda. So is empty_cache: that of torch.accelerator raises where
# there is no accelerator, and that of torch.cuda does nothing
_NAMES = {
    "is_available": "is_available",
    "device_count": "device_count",
    "synchronize": "synchronize",
    "set_device": "set_device_index",
    "current_device": "current_device_index",
}
_ASKED = frozenset({"is_available", "device_count"})  # whether there is a device
_TAKING = frozenset({"synchronize", "set_device"})  # a device
_OF_NPU = lazy(r"(?i)npu|hccl|ascend")  # words that name the NPU
# codes whose edits add the NPU's word and keep the old one: lists of choices, environment variables that are set
_BOTH = frozenset({"PRT123", "PRT209", "PRT801"})
# codes whose edits suit NPUs and would change a GPU: algorithms, optimisers, memory formats and modes of compiling, the last
# batch of an epoch, TF32, versions that are installed
_OF_ONE_KIND = frozenset("PRT305 PRT318 PRT405 PRT407 PRT502 PRT503 PRT603 PRT831 PRT840 PRT841 PRT843".split())


_ASKED_BY_NAME = (2, 1)  # the first torch with torch.distributed.is_backend_available


def shared(target: Target) -> tuple[int, ...]:
    """The older torch of the NPU's and the GPU's: code that runs on both uses names that it has."""
    return min(target.torch, target.on_gpus or target.torch)


def has_accelerator(torch: tuple[int, ...]) -> bool:
    """Whether ports for a torch ask torch.accelerator."""
    return torch >= SINCE


def head_lines(torch: str, version: tuple[int, ...], left: Iterable[str]) -> dict[str, str]:
    """The statements that bind the names at the head of a module, by name. `torch`: what the module calls torch. `left`:
    types of accelerators on which the program does what it did."""
    kept = "".join(f'.replace("{kind}", "cuda")' for kind in left)
    if version < SINCE:
        lines = "try:", "    import torch_npu  # noqa: F401", "", f'    {TYPE} = "npu"'
        return {
            TYPE: "\n".join((*lines, "except ImportError:", f'    {TYPE} = "cuda"')),
            MODULE: f"{MODULE} = getattr({torch}, {TYPE})",
            BACKEND: f'{BACKEND} = "hccl" if {TYPE} == "npu" else "nccl"',
        }
    return {
        TYPE: f'{TYPE} = getattr({torch}.accelerator.current_accelerator(), "type", "cuda"){kept}',
        MODULE: f"{MODULE} = {torch}.get_device_module({TYPE})",
        # not asked of torch.distributed, which is empty where torch was built without it
        BACKEND: f'{BACKEND} = {{"npu": "hccl", "xpu": "xccl"}}.get({TYPE}, "nccl")',
    }


class Portable(Rename):
    """Edits that run on NPUs and on GPUs. For what each method writes, see `Rename`."""

    loads = False
    one_world = False

    def fits(self, code: str, old: str, texts: Iterable[str]) -> bool:
        """The new texts may not name the NPU more often than the old one, nor change what a GPU does."""
        texts = [*texts]
        asks_any = bool(texts) and all(
            "accelerator" in text for text in texts
        )  # whatever there is: a GPU answers as before
        if code in _OF_ONE_KIND and not asks_any:
            return False
        return code in _BOTH or len(_OF_NPU.findall(" ".join(texts))) <= len(_OF_NPU.findall(old))

    def name(self, tail: str, old: str = "", file: RuleFile | None = None) -> str | None:
        new = _NAMES.get(old)
        if new and has_accelerator(shared(self.target)) and not (file and self._asks_module(old, file)):
            return None if file and old in _ASKED and _is_split(file) else f"torch.accelerator.{new}"
        if tail != old or file is None or not self.reaches(file):
            return None  # the NPU's name differs from the GPU's
        return f"{MODULE}.{tail}" if self._has(f"{self.target.namespace}.{tail}") else None

    def _asks_module(self, old: str, file: RuleFile) -> bool:
        """Whether the module of the accelerator is asked although torch.accelerator has the name: a test that counts calls of torch.cuda's
        function counts none of torch.accelerator's, which takes no `device=` by its name, and `set_device` alone takes what
        `torch.cuda.device(0)` makes."""
        if old in file.facts.accelerators.functions.patched or old == "set_device" and _keeps_contexts(file):
            return True
        if old in _TAKING and _names_device(old, file):
            return True
        return old in _ASKED and self._leaves_some(file)

    def _leaves_some(self, file: RuleFile) -> bool:
        """Whether not every accelerator of torch is one of this port."""
        return bool(file.facts.accelerators.left) and self.reaches(file)

    def reaches(self, file: RuleFile) -> bool:
        """Whether code of the file can use names that are bound at its head. Scripted code (torch.jit) cannot, nor can a `case`,
        where a bare name takes any value."""
        in_case = type(file.statement).__name__ == "match_case"
        return not in_case and not file.meaning.is_scripted() and file.imported.head() is not None

    def device(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None:
        if not self.reaches(file):
            return None
        if isinstance(node, cst.SimpleString):
            if node.raw_value == "cuda" or knows_bare_device(node, file):
                return self._expression(TYPE, node)
            if node.prefix or not node.raw_value.startswith("cuda:"):
                return None
            tail = node.raw_value[4:].replace("{", "{{").replace("}", "}}")
            return self._expression(f"f{node.quote}{{{TYPE}}}{tail}{node.quote}", node)
        if isinstance(node, cst.FormattedString) and isinstance(node.parts[0], cst.FormattedStringText):
            first = node.parts[0]
            if not first.value.startswith("cuda"):
                return None
            rest = [first.with_changes(value=first.value[4:])] if first.value[4:] else []
            return node.with_changes(parts=[cst.FormattedStringExpression(cst.Name(TYPE)), *rest, *node.parts[1:]])
        return None

    def type_name(self, file: RuleFile) -> str | None:
        return TYPE if not file.meaning.is_scripted() and file.imported.head() is not None else None

    def backend(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None:
        plain = isinstance(node, cst.SimpleString) and node.raw_value == "nccl"
        if not plain or not self.reaches(file):
            return None
        return self._expression(BACKEND, node)

    def backend_asked(self, call: cst.Call, file: RuleFile) -> cst.Call | None:
        """`dist.is_backend_available(accelerator_backend)`, which came with torch 2.1, or the function of that backend; None where
        the function is imported by its own name."""
        if not isinstance(call.func, cst.Attribute) or call.args or not self.reaches(file):
            return None
        if shared(self.target) < _ASKED_BY_NAME:
            name = cst.parse_expression(f'f"is_{{{BACKEND}}}_available"')
            return call.with_changes(
                func=cst.Call(cst.Name("getattr"), [cst.Arg(call.func.value), cst.Arg(name)]), args=[]
            )
        func = call.func.with_changes(attr=cst.Name("is_backend_available"))
        return call.with_changes(func=func, args=[cst.Arg(cst.Name(BACKEND))])

    def method(self, call: cst.Call, file: RuleFile, index: str = "") -> cst.Call | None:
        if index:
            return self._indexed(call, index, file)
        return self._to(call, cst.Name(TYPE)) if self.reaches(file) else None

    def _indexed(self, call: cst.Call, kind: str, file: RuleFile) -> cst.Call | None:
        """`x.cuda(index)` as a call of `to`. A bare index means the NPU where `int_is_npu` says so; else a device is built.
        With None, `to` would leave the tensor where it is: an index that may be None is asked first."""
        made: cst.Call = moved_to(call)
        index = next(i for i, a in enumerate(made.args) if a.keyword is None or a.keyword.value == "device")
        given = made.args[index].value
        if not self.reaches(file) or kind == "nothing" and not (self.target.int_is_npu and _is_plain(given)):
            return None
        device: cst.BaseExpression = given
        if kind == "nothing":
            unset = cst.Comparison(given, [cst.ComparisonTarget(cst.Is(), cst.Name("None"))])
            device = cst.IfExp(test=unset, body=cst.Name(TYPE), orelse=given)
        elif not self.target.int_is_npu:
            device = cst.Call(dotted(f"{file.imported.head()}.device"), [cst.Arg(cst.Name(TYPE)), cst.Arg(given)])
        args = [*made.args[:index], made.args[index].with_changes(value=device), *made.args[index + 1 :]]
        return made.with_changes(args=args)

    def moved(self, call: cst.Call, file: RuleFile) -> cst.Call | None:
        return self.method(call, file)

    def attribute(self, node: cst.Attribute) -> cst.Attribute | None:
        return None

    def module(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None:
        return self._expression(MODULE, node) if self.reaches(file) else None

    def on_device(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None:
        return self._has_type(node, TYPE) if self.reaches(file) else None

    @staticmethod
    def _expression(text: str, old: Any) -> cst.BaseExpression:
        new = dotted(text) if text.replace(".", "").isidentifier() else cst.parse_expression(text)
        return new.with_changes(lpar=old.lpar, rpar=old.rpar)


def _is_split(file: RuleFile) -> bool:
    """Whether a file that can have no head has code of its own for an accelerator that is left to it: torch.accelerator would say yes there."""
    kinds = file.facts.accelerators.left if file.imported.head() is None else ()
    return any(kind.encode() in file.source.words for kind in kinds)


def _names_device(old: str, file: RuleFile) -> bool:
    """Whether a statement calls a function with `device=`; of what an import binds, whether the file does."""
    imports: Any = file.statement if file.statement.__class__ is ast.ImportFrom else None
    names = {old, *(a.asname for a in (imports.names if imports else ()) if a.name == old)}
    scope: Any = file.tree if imports else file.statement
    calls = (node for node in ast.walk(scope) if isinstance(node, ast.Call) and node.keywords)
    return any(getattr(call.func, "attr", getattr(call.func, "id", "")) in names for call in calls)


def _keeps_contexts(file: RuleFile) -> bool:
    """Whether the file does more with a `torch.cuda.device(0)` than to enter it."""
    for link in file.apis.get("torch.cuda.device", ()):
        while link[1] is not None and link[1][0].__class__ is ast.Attribute:
            link = link[1]
        call = link[1]
        if call is not None and call[0].__class__ is ast.Call and call[1][0].__class__ is not ast.withitem:
            return True
    return False


def _is_plain(node: cst.BaseExpression) -> bool:
    """`gpu`, `args.gpu`: what may be written twice."""
    return chain(node) not in ([], ["None"])
