"""PRT7: what a file calls that the target lacks, runs on the CPU, or was not verified for. Once for a file and an API.

There is nothing to edit, so the index answers alone. A rule that asks for an API by its name says more than this could.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.catalog.read.load import load, versions
from porter.catalog.read.verdict import MISSING, ON_CPU, UNKNOWN, Support, Verdict
from porter.checks.support import array_tensors
from porter.checks.support.handed_host import is_handed_host
from porter.checks.support.names_that_went import is_told
from porter.checks.support.newer_torch import is_elsewhere, later, newer_names
from porter.engine.rule import Hit, IndexRule, named
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import DEFAULT_DEVICE, call_name, constant
from porter.python.guards import asked, guard
from porter.python.index import Link, Node, ancestors, chain_of, methods, walk
from porter.python.inventory import first
from porter.python.waits import COPIES
from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.target import Target
from porter.training.loops import loops_around
from porter.training.made_there import FACTORIES
from porter.training.on_the_host import optimises_there

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
# what runs once, or on the CPU: the making of parameters and samples, and what is done with results
_ONCE = lazy(
    r"(?i)^_*(?:init|reset|build|make|create|setup|load|save|plot|visual|show|prepare|test|check)|_init$|init_?weights"
)
_SAMPLES = lazy(
    r"(?i)dataset|transform|augment|collat|sampler|token|metric|accuracy|evaluat|reader|loader|dataproc|preproc"
)
_HOST = COPIES | {"from_numpy"}
_CASTS = {
    "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "long": "int64", "bool": "bool", "half": "float16",
}  # fmt: skip
_ALIASES = {"short": "int16", "int": "int32", "long": "int64", "half": "float16", "float": "float32"}
# the rest is verified nearly everywhere, left out of the lists though it works, or what PRT307 and PRT309 speak of
_RULED = "torch._six"  # PRT704 answers for all of it
_PUT_IN = lazy(rf"torch\.(?:{any_of('put-into-torch')})(?![\w])")
_OWN_CONSTANT = lazy(r"torch\.nn\.[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")  # torch.nn never had constants
_LAYER = lazy(r"torch\.nn\.(?:modules\.\w+\.)?[A-Z]\w*[a-z]\w*$")
_LIST = 3  # a note that names fewer types speaks of an argument or a result
_MAKES = lazy(r"\.(?:new_\w+|zeros|ones|empty|full|arange|\w+_like|tensor|to|type|as_tensor)$")
_MOVES = lazy(rb"cuda|(?<![Ii])npu|device|\.to\(|type_as|\.new_|Module")
# the same in a function
_LEAVES = lazy(rb"cuda|(?<![Ii])npu|device|type_as|\.new_|\.to\((?:\*|\w+[.\[])(?<!torch\.)")
# of a program that leaves the host
_LEADS = lazy(rb"(?i)cuda|(?<!i)npu|device|\.to\((?![\"']cpu)|accelerat|trainer|lightning")
_ON_HOST = lazy(rb"torch\.(?:as_tensor|eye|Tensor|FloatTensor|from_numpy|zeros|ones|full|randn?|linspace)\(")
_DOUBTFUL = frozenset({"int8", "int16", "uint8", "uint16", "uint32", "uint64", "bool"})


class UnsupportedApi(IndexRule):
    code = "PRT701"
    codes = ("PRT701", "PRT702", "PRT703")

    def look(self, file: RuleFile) -> Iterator[Hit]:
        support = file.session.support
        newer: dict[str, tuple[Link, str]] = {}  # API -> its first place, and the first torch_npu whose torch has it
        for name, links in sorted(file.apis.items()):
            verdict = support.of(name)
            if verdict is None or name.startswith(_RULED) or verdict.severity == "note" and not verdict.dtypes:
                continue
            if verdict.kind in (UNKNOWN, MISSING):
                if not is_told(name, file.rules.tables) and (places := _places(file, name, links)):
                    if verdict.kind == UNKNOWN and (npu := later(verdict.api, support.catalogue.torch)):
                        newer[verdict.api] = (first(places), npu)
                        continue
                    why, placeholders = _missing(verdict, support, len(places))
                    yield Hit(first(places), why, code="PRT701", values=named(**placeholders))
            elif verdict.kind == ON_CPU:
                layer = bool(_LAYER.match(name))
                if name not in file.rules.keys.calls and (places := [k for k in links if _computes(file, k, layer)]):
                    values = _values(verdict, file.target, places)
                    yield Hit(
                        first(places), "disagree" if verdict.disagree else "default", code="PRT702", values=values
                    )
            elif len(verdict.dtypes) >= _LIST and not _MAKES.search(name):
                yield from _of_types(file, name, links, verdict)
        yield from newer_names(newer, support)


def _of_types(file: RuleFile, name: str, links: list[Link], verdict: Verdict) -> Iterator[Hit]:
    uses = [(k, dtype) for k in links if (dtype := _dtype(file, k)) in _DOUBTFUL and dtype not in verdict.dtypes]
    if name in FACTORIES and not file.source.says(DEFAULT_DEVICE):
        uses = [(k, dtype) for k, dtype in uses if not _is_made_on_host(k)]
    if uses := [(k, dtype) for k, dtype in uses if _computes(file, k)]:
        place = first([k for k, _ in uses])
        values = named(name=name, dtype=dict(uses)[place], dtypes=", ".join(verdict.dtypes))
        yield Hit(place, "default", code="PRT703", values=values)


def missing(file: RuleFile) -> Iterator[tuple[str, list[Link]]]:
    """What the target lacks of what a file calls, with all places."""
    for name, links in sorted(file.apis.items()):
        verdict = file.session.support.of(name)
        if verdict is not None and verdict.kind in (UNKNOWN, MISSING) and (places := _places(file, name, links)):
            yield verdict.api, places


def _places(file: RuleFile, name: str, links: list[Link]) -> list[Link]:
    if name.startswith("torch.cuda") or _is_member(file, name) or _PUT_IN.match(name):
        return []
    return [k for k in links if _read(k) and not _guarded(file, k)]


def _is_member(file: RuleFile, name: str) -> bool:
    """Of a class that the target has: the catalogue does not list `ProfilerActivity.NPU`, nor what torch_npu adds to torch's."""
    above, _, member = name.rpartition(".")
    if not above.rpartition(".")[2][:1].isupper():
        return False
    device = file.session.target.device
    return above.startswith("torch_npu.") and file.session.has(above) or member in (device, f"is_{device}")


def _missing(verdict: Verdict, support: Support, count: int) -> tuple[str, dict[str, str]]:
    values = {"name": verdict.api, "count": str(count)}
    if verdict.kind == UNKNOWN and _OWN_CONSTANT.match(verdict.api):
        return "constant", values
    if verdict.kind == UNKNOWN:
        gone = support.catalogue.surface.gone(verdict.api)
        if not gone and not is_elsewhere(verdict.api):
            return "nowhere", {**values, "version": load(versions()[0]).torch}
        return "gone" if gone else "torch", {**values, "version": support.catalogue.torch}
    # the fallback has nothing to call on the CPU either
    return "cuda" if verdict.operators else "npu", {**values, "version": support.catalogue.torch_npu}


def _values(verdict: Verdict, target: Target, links: list[Link]) -> tuple[tuple[str, str], ...]:
    operators = ", ".join(dict.fromkeys(name.partition(".")[0] for name in verdict.operators))
    return named(name=verdict.api, version=target.torch_npu, operators=operators, count=str(len(links)))


def _read(link: Link) -> bool:
    """Not `torch.x = ...`, `del torch.x`."""
    return chain_of(link)[0].ctx.__class__ is ast.Load


def _guarded(file: RuleFile, link: Link) -> bool:
    """Whether the code asks first if there is such a thing, or catches that there is none."""
    names, word = file.names, getattr(link[0], "id", "")
    imported = names.imports.get(word, ()) if word != "torch" else ()
    if imported and (word in names.others or any(guard(binding) or asked(binding) for _, binding in imported)):
        return True
    return asked(link)


def _computes(file: RuleFile, link: Link, layer: bool = False) -> bool:
    """Whether what stands here plausibly computes with tensors of the device, and more than once. A layer is made once, and
    computes in every step."""
    scene = file.scene
    if file.tested or file.awareness.covers_link(link) or optimises_there(file):
        return False
    function = scene.function(link)
    owner = scene.owner(link)
    if (
        (not layer and not loops_around(link) or not file.source.says(_LEADS))
        if function is None
        else not layer and _runs_once(file, function) or _is_of_host(file, function)
    ):
        return False
    names = [function[0].name] if function else []
    if owner is not None:
        names += [owner.name, *(call_name(base) for base in owner.bases)]
        if "__getitem__" in methods(owner):
            return False
    if any(map(_SAMPLES.search, names)) or _on_host(link) or array_tensors.is_of_array(file, link):
        return False
    return function is None or not is_handed_host(file, link)


@once_for_file
def _runs_once(file: RuleFile, function: Link, depth: int = 0) -> bool:
    """Whether a function makes parameters, tables or samples, by its own name or by those of all that use it here."""
    if _ONCE.search(function[0].name):
        return True
    if depth > 3 or function[1][0].__class__ is ast.ClassDef:
        return False
    around = map(file.scene.function, file.names.spelled(function[0].name))
    users = [user for user in around if user is None or user[0] is not function[0]]
    return bool(users) and all(user is not None and _runs_once(file, user, depth + 1) for user in users)


def _is_of_host(file: RuleFile, function: Link) -> bool:
    """A function that makes tensors on the host, and moves none: with tensors of the device it would fail."""
    if not file.source.says(_ON_HOST, function[0]):
        return False
    # what a method has may be anywhere
    if function[1][0].__class__ is ast.ClassDef or file.source.says(DEFAULT_DEVICE):
        return not file.source.says(_MOVES)
    takers = (n for n in walk(function[0]) if n.__class__ is ast.Call and call_name(n.func) == "to")
    given = (getattr(a, "id", "") for call in takers for a in [*call.args, *(k.value for k in call.keywords)])
    places = {a.arg for a in (*function[0].args.args, *function[0].args.kwonlyargs) if "dtype" not in a.arg}
    return not file.source.says(_LEAVES, function[0]) and places.isdisjoint(given)


def _on_host(link: Link) -> bool:
    """Whether the words of the call, or of what it stands in, say that the CPU computes it."""
    top = None
    for above in ancestors(link):
        if above[0].__class__ not in (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp, ast.keyword, ast.Starred):
            break
        top = above[0]
    for node in walk(top) if top is not None else ():
        if node.__class__ is ast.Call and call_name(node.func) in _HOST:
            return True
        if node.__class__ is ast.Constant and node.value == "cpu" or getattr(node, "id", "").endswith("_cpu"):
            return True
    return False


def _is_made_on_host(link: Link) -> bool:
    """Whether a call that makes a tensor names no device."""
    call = chain_of(link)[1][0]
    return call.__class__ is ast.Call and not any(k.arg in ("device", "out", None) for k in call.keywords)


def _dtype(file: RuleFile, link: Link) -> str | None:
    """The type that a call names, or that its first argument or its receiver has just been cast to."""
    link = chain_of(link)
    call = link[1][0]
    if call.__class__ is not ast.Call or call.func is not link[0]:
        return None
    for keyword in call.keywords:
        if keyword.arg == "dtype":
            return _named(file, keyword.value, link)
    value: Node = call.args[0] if call.args else None
    if getattr(link[0], "attr", None) and file.names.resolve(link[0], link) is None:
        value = link[0].value
    if value.__class__ is not ast.Call or value.func.__class__ is not ast.Attribute:
        return None
    if value.func.attr in _CASTS and not value.args:
        return _CASTS[value.func.attr]
    if value.func.attr in ("to", "type") and len(value.args) == 1:
        return _named(file, value.args[0], link)
    return None


def _named(file: RuleFile, node: ast.expr, link: Link) -> str | None:
    full = file.names.resolve(node, link) or ""
    dtype = full.removeprefix("torch.")
    return None if dtype == full or constant(node) is not None else _ALIASES.get(dtype, dtype)
