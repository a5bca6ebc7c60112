"""What an attribute chain refers to, by LibCST's ScopeProvider alone. Nothing here knows how porter resolves names."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import (
    Assignment,
    ImportAssignment,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    ScopeProvider,
)


def words(node: cst.BaseExpression) -> list[str]:
    """The words of `a.b.c`; empty where the chain starts with anything but a name: a call is another thing."""
    found: list[str] = []
    while isinstance(node, cst.Attribute):
        found.append(node.attr.value)
        node = node.value
    return [*found, node.value][::-1] if isinstance(node, cst.Name) else []


def spelled(assignment: ImportAssignment) -> str:
    """What an import binds: `torch` for `import torch.cuda`, `torch.cuda` with an `as`."""
    node = assignment.node
    for alias in node.names:
        bound = alias.evaluated_alias or (
            alias.evaluated_name if isinstance(node, cst.ImportFrom) else alias.evaluated_name.split(".")[0]
        )
        if bound == assignment.name:
            if isinstance(node, cst.ImportFrom):
                base = "." * len(node.relative) + ("".join(".".join(words(node.module)) + ".") if node.module else "")
                return base + alias.evaluated_name
            return alias.evaluated_name if alias.evaluated_alias else alias.evaluated_name.split(".")[0]
    raise AssertionError(f"{assignment.name} is bound by no alias of its import")


class Resolver:
    def __init__(self, module: cst.Module):
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self.module = wrapper.module
        self.scopes = wrapper.resolve(ScopeProvider)
        self.parents = wrapper.resolve(ParentNodeProvider)
        self.positions = wrapper.resolve(PositionProvider)
        self.assigned: dict[str, set[Assignment]] = {}
        for scope in {s for s in self.scopes.values() if s is not None}:
            for assignment in scope.assignments:
                self.assigned.setdefault(assignment.name, set()).add(assignment)

    def imported(self, node: cst.BaseExpression) -> str | None:
        """The full name of a chain whose root is bound by imports alone, or by one import's name among others."""
        chain = words(node)
        root = node
        while isinstance(root, cst.Attribute):
            root = root.value
        scope = self.scopes.get(root)
        if not chain or scope is None:
            return None
        answers = {spelled(a) for a in scope[chain[0]] if isinstance(a, ImportAssignment)}
        return ".".join([answers.pop(), *chain[1:]]) if len(answers) == 1 else None

    def bound(self, node: cst.BaseExpression) -> bool:
        """Whether the chain's root is bound anywhere that this place can see."""
        root = node
        while isinstance(root, cst.Attribute):
            root = root.value
        scope = self.scopes.get(root)
        return scope is not None and any(isinstance(a, Assignment) for a in scope[words(node)[0]])

    def name(self, node: cst.BaseExpression) -> str | None:
        """`imported`, and through `cuda = torch.cuda` where nothing else in the file binds that name."""
        if full := self.imported(node):
            return full
        chain = words(node)
        made = self.assigned.get(chain[0], set()) if chain else set()
        if len(made) != 1:
            return None
        target = next(iter(made)).node
        statement = self.parents.get(self.parents.get(target)) if isinstance(target, cst.Name) else None
        if (
            not isinstance(statement, cst.Assign)
            or len(statement.targets) != 1
            or not isinstance(statement.value, cst.Attribute)
        ):
            return None
        full = self.imported(statement.value)
        return full and ".".join([full, *chain[1:]])

    def place(self, node: cst.CSTNode) -> tuple[int, int]:
        start = self.positions[node].start
        return start.line, start.column + 1

    def chains(self):
        """Every longest chain that is read, no part of an import or of a `global`."""
        resolver = self

        class Collect(cst.CSTVisitor):
            def __init__(self):
                self.found: list[cst.BaseExpression] = []

            def visit_Import(self, node) -> bool:
                return False

            visit_ImportFrom = visit_Global = visit_Nonlocal = visit_Import

            def visit_Attribute(self, node) -> bool:
                if words(node):
                    self.found.append(node)
                    return False
                node.value.visit(self)
                return False

            def visit_Name(self, node) -> None:
                if node in resolver.scopes:
                    self.found.append(node)

        collect = Collect()
        self.module.visit(collect)
        return collect.found
