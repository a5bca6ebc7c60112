"""Settings that ask for flash_attn where the project runs without it, too."""

from __future__ import annotations

import pytest

from porter.project.fallbacks import attention_falls_back
from porter.project.said_once import set_in_many
from porter.python.trees import parse

TRIED = b"""
class Block:
    def __init__(self, config):
        self.attend = None
        if config.flash_attention:
            try:
                from flash_attn import flash_attn_func

                self.attend = flash_attn_func
            except ModuleNotFoundError:
                pass

    def forward(self, q, k, v):
        if self.attend is not None:
            return self.attend(q, k, v)
        return scaled_dot_product_attention(q, k, v)
"""
CONFIG = b"class Config:\n    flash_attention: bool = False\n\n\ndef f(config):\n    config.flash_attention = True\n"


def test_a_reader_that_goes_on_without_the_package():
    files = {"a.py": TRIED, "config.py": CONFIG, "tests/test_a.py": b"assert config.flash_attention\n"}
    assert attention_falls_back(files, parse) == ("flash_attention",)


@pytest.mark.parametrize(
    "other",
    [
        {"a.py": TRIED.replace(b"pass", b"raise")},
        {"a.py": TRIED.replace(b"ModuleNotFoundError", b"KeyError")},
        {"a.py": TRIED.replace(b"scaled_dot_product_attention", b"torch.nothing")},
        {"a.py": b"from flash_attn.bert_padding import pad_input\n" + TRIED},
        {"a.py": TRIED.replace(b"config.flash_attention", b"config.flash")},
        {"b.py": b"def f(config):\n    return Attention(flash=config.flash_attention)\n"},
        {"b.py": b"def f(config):\n    return Attention(flash=config.get('flash_attention'))\n"},
    ],
)
def test_what_is_no_proof_of_it(other):
    assert attention_falls_back({"a.py": TRIED, "config.py": CONFIG, **other}, parse) == ()


def test_a_variable_that_many_files_set():
    line = b'import os\nos.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"\n'
    texts = {"b.py": line, "a.py": line, "c.py": b'import os\nprint(os.environ["CUDA_DEVICE_ORDER"])\n'}
    assert set_in_many(texts) == (("CUDA_DEVICE_ORDER", "a.py", 1),)
    assert set_in_many({"c.py": texts["c.py"]}) == ()
