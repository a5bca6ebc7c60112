"""Which buffers are those of a class."""

from __future__ import annotations

import ast
from textwrap import dedent

from porter.training.buffers import registered


def test_a_class_has_the_buffers_that_it_registers_itself():
    text = """
        class Model(nn.Module):
            def __init__(self):
                self.register_buffer("steps", torch.zeros(1))
                self.register_buffer(name="rates", tensor=torch.ones(1))
                self.norm.register_buffer("mean", torch.zeros(1))

            class Part(nn.Module):
                def __init__(self):
                    self.register_buffer("inner", torch.zeros(1))
    """
    assert registered(ast.parse(dedent(text)).body[0]) == {"steps", "rates"}
