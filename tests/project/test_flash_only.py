"""Code that only the package flash_attn leads to costs an NPU nothing."""

from __future__ import annotations

import ast

import pytest

from porter.project.flash_only import FLASH, at

MODEL = """from flash_attn import flash_attn_func


def _get_unpad_data(mask):
    return mask.nonzero()


class LlamaFlashAttention2(Attention):
    def forward(self, x):
        return x.max().item()


class LlamaSdpaAttention(Attention):
    def forward(self, x):
        return x.max().item()
"""


@pytest.mark.parametrize(("line", "reason"), [(1, ""), (5, FLASH), (10, FLASH), (15, "")])
def test_where_only_the_package_leads(line: int, reason: str) -> None:
    assert at(ast.parse(MODEL), MODEL.encode(), line) == reason


def test_a_class_of_that_name_without_the_package_counts() -> None:
    text = MODEL.replace("from flash_attn import flash_attn_func", "from ours import attention_func")
    assert not any(at(ast.parse(text), text.encode(), line) for line in range(1, 16))


def test_what_cannot_be_parsed_counts() -> None:
    assert at(None, MODEL.encode(), 5) == ""
