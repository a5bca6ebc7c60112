"""Finds questions about CUDA (`x.is_cuda`) that decide about a CUDA kernel. They are not ported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.blocks import BODIES, fresh, once, place
from porter.python.demands import demanded, demands, launches
from porter.python.evidence import call_name, constant, device_like, words_of
from porter.python.held_questions import says_without
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.kernel_switches import switched, switches
from porter.python.leads_to_kernels import leads
from porter.python.own_kernels import applied, imports_own, is_own, is_own_operator
from porter.python.plain_functions import attends, is_plain
from porter.python.plain_ways import plain_way
from porter.python.quantized import quantized
from porter.python.twin_questions import kernel_of_twin
from porter.regex import lazy
from porter.rulebook.table import any_of, hints

if TYPE_CHECKING:
    from porter.python.file import File

# names of CUDA kernels and of modules that hold them
_KERNEL = lazy(
    r"_cuda(?:_ext|_kernels?|_ops|_fwd|_bwd|_forward|_backward)?$|[a-z0-9]Cuda$|_gpu_(?:forward|backward|fwd|bwd)$|^_C$|^ext_module$|triton(?:_|$)|cudnn(?!$)|cutlass|tilelang"
)
# a name that says that kernels were built or installed
_BUILT = lazy(
    rf"(?i)(?:^|_)(?:with|has|have|use|enable|is|no)_\w*(?:{any_of('built-for-cuda')})|(?-i:(?:WITH|HAS|HAVE)_CUDA_[A-Z])"
)
# the name of a function whose answer says whether a kernel can be used (see _asking)
_ASKING = lazy(r"(?i)kernel|custom_?ops?(?:_|$)|triton|cudnn|tilelang|cutlass|nvls|flash|xformers")
_ABOUT = lazy(rf"(?:{any_of('module-of-kernels')})\w*(?:/\w+)?\.py$")  # the path of a module about kernels
_KERNELS_OF = hints("package-of-kernels")
_OF_A_BUILD = frozenset({"_ext", "_C", "_cuda"})  # modules that a build writes
_CAPABILITY = frozenset({"get_device_capability", "get_device_properties"})  # a condition with one is about kernels
_NO_KERNEL = lazy(  # matches _KERNEL, but is no kernel: Python functions such as to_cuda, options such as cudnn_benchmark
    r"^_cuda$|(?:^|_)(?:(?:to|try|move|use|is|has|can|sync|synchronize|seed|init|empty|clear|check|set|get|with|on|in|batch|reset|test)_cuda$"
    r"|cudnn_(?:deterministic|benchmark|enabled?|allow_tf32)$)"
)
_WAYS = lazy(r"_?(?:forward|backward|fwd|bwd)(?![a-z])")
FAST_PATHS = frozenset({"_native_multi_head_attention", "_transformer_encoder_layer_fwd"})
_FAST = lazy(rb"\b_native_multi_head_attention\b|\b_transformer_encoder_layer_fwd\b")
_COMPARED = ' == "cuda"'  # a condition such as `impl == "cuda"` counts as a kernel only where nothing else does


def without_way(kernel: str) -> str:
    """One word for the kernels of both ways, which one change answers: `spmm_cuda` of spmm_forward_cuda and spmm_backward_cuda."""
    return _WAYS.sub("", kernel)


def kernel(file: File, link: Link | None) -> str | None:
    """The CUDA kernel that a question about a tensor's device decides about. It is called, or the code prepares its call."""
    return (
        (_chosen(file, link) or _fast_path(file, link) or kernel_of_twin(file, link, _kernel))
        if link is not None
        else None
    )


def _fast_path(file: File, link: Link) -> str | None:
    """The operator of torch's own fast path that a function comes to, with kernels for GPUs and CPUs alone: beside it, it has the
    way that every device takes. Copies of `nn.MultiheadAttention` ask each tensor first."""
    if not file.source.says(_FAST):
        return None
    around = next((up[0] for up in ancestors(link) if up[0].__class__ in FUNCTIONS[:2]), None)
    calls = (node.func for node in walk(around) if node.__class__ is ast.Call) if around is not None else ()
    return next((name for func in calls if (name := call_name(func)) in FAST_PATHS), None)


def _chosen(file: File, link: Link) -> str | None:
    if name := demanded(file, link) or switched(link):
        return name
    child, compared = link[0], None
    for up in ancestors(link):
        above = up[0]
        kind = above.__class__
        if kind is ast.BoolOp:
            if any(map(says_without, above.values)):
                return None
            asked = (word for value, word in _conditions_of(above, file, up) if value is not child)
            for word in (word for word in asked if not attends(file, word, up)):
                if not word.endswith(_COMPARED):
                    return word
                compared = compared or word
        elif kind in (ast.If, ast.IfExp) and child is above.test:
            if kind is ast.IfExp:
                parts = [above.body, above.orelse]
            else:  # a branch that raises still does so after the port, so its `else` does not count
                parts = [*above.body, *(() if above.body[-1].__class__ is ast.Raise else above.orelse)]
            named = (
                _kernel(file, parts, up) or quantized(parts) or plain_way(file, above) or _kernel_after(file, above, up)
            )
            return named or _asking(file, above, up) or compared
        if isinstance(above, ast.stmt):
            return _of_statement(file, above, up) or compared
        child = above
    return None


def _of_statement(file: File, statement: Node, link: Link) -> str | None:
    """The kernel that a statement without branches decides about: an assignment, an assert or a return."""
    if statement.__class__ is ast.Assign and switches(name := getattr(statement.targets[0], "id", "")):
        return name
    if statement.__class__ is ast.Assert:
        return _asserted(file, statement, link)
    return _asking(file, statement, link) if statement.__class__ is ast.Return else None


def _kernel(file: File, parts: list[ast.AST], link: Link) -> str | None:
    return next((name for part in parts for name in kernels_called(file, part, link)), None)


def _asserted(file: File, statement: Node, link: Link) -> str | None:
    """The kernel that is called in the branch of an assert, if the branch is for tensors on the device."""
    branch = link[1][0]
    if branch.__class__ is not ast.If or statement not in branch.body:
        return None
    asks = any(getattr(n, "attr", "") == "is_cuda" or constant(n) == "cuda" for n in walk(branch.test))
    return _kernel(file, branch.body, link) if asks else None


def _kernel_after(file: File, node: Node, link: Link) -> str | None:
    """The kernel that is called below a branch that leaves: `if not x.is_cuda: return slow(x)`, and as well `if x.is_cuda: return
    other(x)`. A branch that raises does not count. Each block is searched once."""
    if node.__class__ is not ast.If or node.body[-1].__class__ not in (ast.Return, ast.Continue, ast.Break):
        return None
    owner = link[1][0]
    field, index = place(owner, node)
    if field not in BODIES:
        return None
    block, known = getattr(owner, field), file.answers["kernels"]
    name: str | None
    begin, end, name = known.get((owner, field), (len(block), len(block), None))
    if not begin <= index + 1 <= end:
        stop = begin if index + 1 < begin else len(block)
        kernels = ((n, _kernel(file, [block[n]], link)) for n in range(index + 1, stop))
        end, name = next(((n, name) for n, name in kernels if name), (end, name) if stop == begin else (stop, None))
        known[owner, field] = index + 1, end, name
    return name


@once
def _conditions_of(test: ast.BoolOp, file: File, link: Link) -> tuple[tuple[ast.expr, str], ...]:
    """The parts of a condition that ask for something besides CUDA, and what each asks for."""
    words = ((value, next(_conditions(file, value, link), None)) for value in test.values)
    return tuple((value, word) for value, word in words if word)


def _conditions(file: File, node: Node, link: Link) -> Iterator[str]:
    """Names of kernels that one part of a condition asks for: `HAS_TRITON`, `impl == "cuda"`."""
    yield from kernels_called(file, node, link)
    for inner in walk(node):
        word = inner.attr if inner.__class__ is ast.Attribute else getattr(inner, "id", "")
        imported = file.names.imports.get(word, ()) if inner.__class__ is ast.Name else ()  # `triton is not None`
        if _BUILT.search(word) or word in _CAPABILITY or any(target in _KERNELS_OF for target, _ in imported):
            yield word
        elif inner.__class__ is ast.Compare and len(inner.ops) == 1 and constant(inner.comparators[0]) == "cuda":
            if not device_like(inner.left) and getattr(inner.left, "attr", "") != "type":
                yield f"{ast.unparse(inner.left)}{_COMPARED}"


def _asking(file: File, node: Node, link: Link) -> str | None:
    """The function around, if it answers whether a kernel can be used; or the file, if it is about kernels."""
    if node.__class__ is ast.If and node.body[-1].__class__ is ast.Raise:
        return None
    if _ABOUT.search(file.path):
        return file.path.rpartition("/")[2].removesuffix(".py")
    body = [node] if node.__class__ is ast.Return else node.body
    if body.__class__ is not list or not all(s.__class__ is ast.Return for s in body):
        return None
    if node.__class__ is ast.If and type(constant(body[0].value)) is not bool:
        return None
    owner = next((above for above, _ in ancestors(link) if isinstance(above, FUNCTIONS[:2])), None)
    return owner.name if owner is not None and _ASKING.search(owner.name) else None


def kernels_called(file: File, part: Node, link: Link) -> Iterator[str]:
    """The names of CUDA kernels that a part of the tree imports or calls."""
    for call in fresh(file, "kernel", part, link):
        if call.__class__ in (ast.Import, ast.ImportFrom):
            names = [getattr(call, "module", None) or "", *(a.name for a in call.names)]
            yield from (n for n in names if n.partition(".")[0] in _KERNELS_OF or _KERNEL.search(n) or is_own(file, n))
            if own := imports_own(file, call):
                yield own
        elif call.__class__ is ast.Call:
            if (
                _is_kernel_called(file, call.func, link)
                or _demands(file, call.func)
                or leads(file, call.func, _is_kernel_called)
            ):
                yield ".".join(reversed(words_of(call.func)[0]))
        elif call.__class__ is ast.Assign and (word := call_name(call.value)):  # run = blur_cuda
            named = _KERNEL.search(word) and not _NO_KERNEL.search(word)
            if (named or is_kernel(file, call.value, link)) and _is_called(file, call.targets[0], link):
                yield word


def is_kernel(file: File, node: Node, link: Link) -> bool:
    """Whether a chain of names is a CUDA kernel, by its package or by its words, and no plain function of the file."""
    words, first = words_of(node)
    full = (file.names.resolve(first, link) if first.__class__ is ast.Name else None) or ""
    if not full and first.__class__ is ast.Name:  # `try: from ._C import f ... except ImportError: f = None`
        full = next((target for target, _ in file.names.imports.get(first.id, ()) if target), "")
    parts = full.lstrip(".").split(".")
    if parts[0] == "torch":
        return is_own_operator(file, words)
    if parts[0] in _KERNELS_OF or not _OF_A_BUILD.isdisjoint(parts):
        return True
    if is_own(file, *parts, words=words):
        return True
    return any(_KERNEL.search(word) and not _NO_KERNEL.search(word) for word in words) and not is_plain(file, node)


def _ends_in_kernel(file: File, node: Node, link: Link) -> bool:
    """Whether `Fused.apply` belongs to a class of the file whose methods call a kernel, or `self.norm.apply` to a kernel. Old
    code calls an object of the class: `Fused(size)(x)`."""
    if node.__class__ is ast.Call:
        node = ast.Attribute(node.func, "apply")
    elif node.__class__ is ast.Name:  # run = Fused.apply
        node = applied(file).get(node.id, node)
    if node.__class__ is not ast.Attribute or node.attr != "apply":
        return False
    if getattr(node.value, "attr", "") and getattr(node.value.value, "id", "") == "self":
        owner = next((above for above, _ in ancestors(link) if above.__class__ is ast.ClassDef), None)
        values = file.receivers.members(owner).get(node.value.attr, ()) if owner is not None else ()
        return any(v.__class__ in (ast.Name, ast.Attribute) and is_kernel(file, v, link) for v in values)
    known, name = file.answers["classes with kernels"], getattr(node.value, "id", "")
    if name not in known:
        definition = next((definition for definition in file.buckets[ast.ClassDef] if definition[0].name == name), None)
        nodes = walk(definition[0]) if definition is not None else ()
        calls = (node for node in nodes if node.__class__ is ast.Call)
        known[name] = any(is_kernel(file, call.func, definition or link) or launches(file, call) for call in calls)
    return bool(known[name])


def _is_kernel_called(file: File, node: Node, link: Link) -> bool:
    return is_kernel(file, node, link) or _ends_in_kernel(file, node, link)


def _demands(file: File, node: Node) -> bool:
    """Whether every function of this name in the file needs an extension (demands.py)."""
    functions = file.names.scopes.functions.get(call_name(node), ())
    return bool(functions) and all(demands(file, function[0]) for function in functions)


def _is_called(file: File, target: Node, link: Link) -> bool:
    readers = file.names.readers(target.id, (target, link)) if target.__class__ is ast.Name else []
    called = (above[0].__class__ is ast.Call and above[0].func is use for use, above in readers)
    return file.names.once("called", readers, lambda: any(called))
