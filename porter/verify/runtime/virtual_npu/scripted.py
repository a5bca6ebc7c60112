"""The names of CUDA in functions that TorchScript compiles: they are translated in its input, no mode sees them run."""

import ast

import torch.jit.frontend


class _Names(ast.NodeTransformer):
    def __init__(self, as_npu):
        self.as_npu = as_npu

    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(self.as_npu(node.value)), node)

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr != "is_cuda":
            return node
        return self._located(node, "_.device.type == 'npu'", node.value)

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda" and not node.args:
            return self._located(node, "_.to('npu')", node.func.value)
        return node

    def _located(self, node, code, value):
        """`code` with `value` for its `_`, all of it at the place of `node`: errors quote the source there."""
        made = ast.parse(code, mode="eval").body
        for part in ast.walk(made):
            ast.copy_location(part, node)
            for name, child in ast.iter_fields(part):
                if isinstance(child, ast.Name):
                    setattr(part, name, value)
        return made


def translate(as_npu):
    parse = torch.jit.frontend.parse_def

    def parse_def(function):
        parsed = parse(function)
        return parsed._replace(ast=_Names(as_npu).visit(parsed.ast))

    torch.jit.frontend.parse_def = parse_def
