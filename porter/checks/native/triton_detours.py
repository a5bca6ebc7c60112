"""What Triton kernels have a way around: tensor maps, descriptors, TF32, and CUDA's libdevice behind an import of the other one."""

from __future__ import annotations

import ast

from porter.engine.rule import TOGETHER, Hit, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.index import ancestors, walk
from porter.regex import lazy

BOTH = "triton.language.extra.libdevice"
DESCRIPTOR = "triton.tools.tensor_descriptor"
TENSOR_MAP = lazy(r"\.experimental_(?:device_)?tensormap_")


def tensor_map(original: cst.CSTNode, name: str, file: RuleFile) -> Hit | None:
    """The first of a kernel speaks for all of them."""
    link = file.link(original)
    kernel = (
        next((above[0] for above in ancestors(link) if above[0].__class__ is ast.FunctionDef), None) if link else None
    )
    if link is None or kernel is None:
        return None
    others = (n for n in walk(kernel) if n.__class__ is ast.Attribute and TENSOR_MAP.search(f".{n.attr}"))
    if min(n.lineno for n in others) < link[0].lineno:
        return None
    above = ((up[0], child[0]) for up, child in zip(ancestors(link), [link, *ancestors(link)]))
    chosen = any(up.__class__ is ast.If and up.test.__class__ is ast.Name and child in up.body for up, child in above)
    return Hit(original, "tensor-map", values=(("name", name),), severity="note" if chosen else None)


def descriptor(original: cst.CSTNode, file: RuleFile) -> Hit | None:
    about = (("name", DESCRIPTOR), (TOGETHER, "descriptor"))
    return None if file.imported.optional(original) else Hit(original, "descriptor", values=about)


def in_tf32(dot: cst.Call, file: RuleFile) -> Hit | None:
    """`tl.dot(a, b, input_precision="tf32")`."""
    given = [arg.value for arg in dot.args if arg.keyword is not None and arg.keyword.value == "input_precision"]
    tf32 = [g for g in given if isinstance(g, cst.SimpleString) and str(g.evaluated_value).startswith("tf32")]
    about = (("name", file.text(tf32[0])), (TOGETHER, "precision")) if tf32 else ()
    return Hit(tf32[0], "precision", values=about) if tf32 else None


def has_tried_both(link: Link | None) -> bool:
    """`except ImportError` of an import of the libdevice that NPUs have as well."""
    if link is None:
        return False
    handler = next((above[0] for above in ancestors(link) if above[0].__class__ is ast.ExceptHandler), None)
    block = next((above[0] for above in ancestors(link) if handler in getattr(above[0], "handlers", ())), None)
    return block is not None and any(getattr(node, "module", "") == BOTH for node in block.body)
