"""`beside.py PROGRAMS`: of each name, how what its programs compute on the device differs from what the first one computes.

A program has a `Model` and its `inputs()`, or a `train()` that returns tensors. One that raises ends the run: a mistake that is
noticed because nothing comes out says nothing about the comparison.
"""

import json
import sys

import torch
import torch_npu  # noqa: F401
from says import forward_and_backward, same


def main(path):
    with open(path, encoding="utf-8") as stream:
        programs = json.load(stream)
    print(json.dumps({name: _differences(*texts) for name, texts in programs.items()}))


def _differences(first, *others):
    wanted = _run(first)
    assert len(wanted) > 1, "a result, and gradients"
    return [_difference(_run(text), wanted) for text in others]


def _run(text):
    torch.manual_seed(0)
    space = {}
    exec(text, space)
    if "train" in space:
        return [t.cpu() for t in space["train"]()]
    model = space["Model"]().npu()
    found = forward_and_backward(model, *(t.npu() for t in space["inputs"]()))
    return found + [p.grad.cpu() for p in model.parameters() if p.grad is not None]


def _difference(found, wanted):
    try:
        same(found, wanted, 1e-5)
    except AssertionError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
