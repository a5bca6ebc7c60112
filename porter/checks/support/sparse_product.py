"""`torch.sparse.mm(adjacency, x)`: torch_npu builds sparse tensors, and has no kernel for what is made of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from porter.checks.performance.selection import short
from porter.checks.support.sparse_members import MAKERS, is_held
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name, constant
from porter.python.index import Link
from porter.training.host_copies import lies_on_host

if TYPE_CHECKING:
    from porter.training.scene import Scene

_PRODUCTS = frozenset({"mm", "matmul", "bmm", "mv", "addmm"})
_DENSE = frozenset(f"torch.{name}" for name in _PRODUCTS)  # of two dense ones they are fine


def _may_be_sparse(scene: Scene, link: Link) -> bool:
    """What is fine with dense tensors is looked at only where the file says sparse."""
    fine = link[0].__class__ is ast.BinOp or call_name(link[0]) in _PRODUCTS
    return not fine or scene.file.source.says(b"sparse")


class SparseProduct(Rule):
    code = "PRT706"
    edits = False
    calls = {
        "torch.spmm", "torch.smm", "torch.hspmm", "torch.sspaddmm", "torch.sparse.mm", "torch.sparse.addmm",
        "torch.sparse.sampled_addmm", "torch.sparse.softmax", "torch.sparse.log_softmax", "torch.optim.SparseAdam",
        *_DENSE,
    }  # fmt: skip
    methods = _PRODUCTS
    nodes = ("BinaryOperation",)
    text = ("sparse", "@")
    only = staticmethod(_may_be_sparse)

    def visit(self, original: cst.Call | cst.BinaryOperation, updated: cst.CSTNode, file: RuleFile) -> Answer:
        if isinstance(original, cst.BinaryOperation):
            matrix = isinstance(original.operator, cst.MatrixMultiply)
            if not matrix or not (_is_sparse(original.left, file) or _is_sparse(original.right, file)):
                return None
            if _is_on_host(file.scene.link_of(original, ast.BinOp), file):
                return None
            return Hit(original, "default", values=(("name", short(file.text(original))),))
        name = file.name(original.func) or ""
        if name and name not in self.calls:  # `np.matmul`
            return None
        if name == "torch.optim.SparseAdam":
            return Hit(original.func, "optimizer")
        if not name or name in _DENSE:
            receiver = [original.func.value] if not name and isinstance(original.func, cst.Attribute) else []
            if not any(_is_sparse(part, file) for part in (*receiver, *(a.value for a in original.args))):
                return None
        if _is_on_host(file.scene.link_of(original, ast.Call), file):
            return None
        return Hit(original.func, "default", values=(("name", name or file.text(original.func)),))


def _is_on_host(link: Link | None, file: RuleFile) -> bool:
    """`torch.sparse.softmax(graph.cpu(), dim=1)`, `graph.cpu() @ x.cpu()`: the first operand answers for all of them."""
    if link is None:
        return False
    scene: Any = file.scene
    operands = [link[0].left] if isinstance(link[0], ast.BinOp) else link[0].args[:1]
    return any(_is_brought(operand) or lies_on_host(scene, operand, link) for operand in operands)


def _is_brought(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return call_name(node.func) == "cpu" or call_name(node.func) == "to" and [*map(constant, node.args)] == ["cpu"]


def _is_sparse(node: cst.BaseExpression, file: RuleFile) -> bool:
    """Made sparse where it stands, or a name that only sparse tensors are given."""
    if isinstance(node, cst.Call):
        if name := file.name(node.func):
            return MAKERS.match(name) is not None
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value in ("to_dense", "sum", "indices", "values"):
            return False
        return node.func.attr.value.startswith("to_sparse") or _is_sparse(node.func.value, file)
    if isinstance(node, (cst.Name, cst.Attribute)) and is_held(file, file.link(node), isinstance(node, cst.Attribute)):
        return True
    return MAKERS.match(file.meaning.made_by(node) or "") is not None
