"""Where numpy computes a learning rate, followed from where an optimizer gets it."""

from __future__ import annotations

import pytest

from porter.project.numpy_rates import has_any, numpy_rates
from porter.project.numpy_values import NumpyValues, Place
from porter.python.trees import parse


def rates_of(texts: dict[str, bytes]) -> frozenset[Place]:
    return numpy_rates(NumpyValues(texts, parse))


SET = """
import numpy as np
def step(optimizer, rate, i):
    for group in optimizer.param_groups:
        group["lr"] = %s
"""
TRAIN = "\ndef main(o):\n    %s\n    step(o, rates, 3)\n"


@pytest.mark.parametrize(
    ("rate", "found"),
    [
        ("0.5 * (1 + np.cos(i))", True),
        ("rate * min(1, np.exp(-i)) if i else 0.1", True),
        ("float(np.cos(i))", False),
        ("np.cos(i).item()", False),
        ("np.pi * i", False),
        ("np.random.uniform(0, 1)", False),
        ("rate", False),
    ],
)
def test_what_is_set(rate, found):
    assert bool(rates_of({"a.py": (SET % rate).encode()})) == found


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ("rates = np.linspace(0, 1, 9)", True),
        ("rates = -np.concatenate((a, b))", True),
        ("rates = cosine(9)", True),
        ("rates = plain(9)", False),
        ("rates = np.linspace(0, 1, 9).tolist()", False),
        ("rates = np.ones(9)\n    rates = rates.tolist()", False),
        ("rates = [0.1, 0.2]", False),
        ("_, rates = 0.1, np.linspace(0, 1, 9)", True),
        ("*_, rates = 0.1, np.linspace(0, 1, 9), [0.3]", False),
    ],
)
def test_what_is_handed_on(rates, found):
    schedules = b"import numpy as np\ndef cosine(n):\n    values = np.arange(n)\n    return values\ndef plain(n):\n    return [n]\n"
    text = "from b import *\n" + SET % "rate[i] * group['scale']" + TRAIN % rates
    assert bool(rates_of({"a.py": text.encode(), "b.py": schedules})) == found


def test_what_a_scheduler_multiplies_with():
    text = b"import numpy as np\ns = LambdaLR(o, lr_lambda=%s)\n"
    assert rates_of({"a.py": text % b"lambda step: np.cos(step)"}) == {("a.py", "")}
    assert not rates_of({"a.py": text % b"lambda step: math.cos(step)"})
    own = text % b"f" + b"def f(step):\n    return 0.5 * np.cos(step)\n"
    assert rates_of({"a.py": own}) == {("a.py", "f")}


@pytest.mark.parametrize(
    ("sets", "found"),
    [
        ("group.update(lr=np.cos(i))", True),
        ("group.update(lr=0.1)", False),
        ("group.update(rate=np.cos(i))", False),
        ("group['lr'] = rate(i)", True),
    ],
)
def test_groups_are_updated_and_schedules_handed_on(sets, found):
    text = f"""import numpy as np
def main(o):
    schedule = lambda t: np.interp([t], x, y)[0]
    train(o, schedule)
def train(o, rate, i=0):
    for group in o.param_groups:
        {sets}
"""
    assert bool(rates_of({"a.py": text.encode()})) == found


def test_who_uses_a_schedule():
    places = [("lib/schedules.py", "cosine")]
    assert has_any("lib/schedules.py", b"", places)
    assert has_any("train.py", b"from lib.schedules import cosine\n", places)
    assert has_any("lib/train.py", b"from . import schedules\nschedules.cosine(3)\n", places)
    assert not has_any("train.py", b"from timm.schedules import cosine\n", places)
    assert not has_any("train.py", b"from lib.schedules import linear\n", places)
    assert not has_any("train.py", b"from lib import schedules\nschedules.linear(3)  # cosine\n", places)


def test_functions_that_call_each_other_end():
    text = b"def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nfor p in o.param_groups:\n    p['lr'] = f(np.e)\n"
    assert not rates_of({"a.py": b"import numpy as np\n" + text})


@pytest.mark.parametrize(
    "body",
    [
        "lr = np.cos(i)\n    lr = round(float(lr), 5)",
        "lr = np.linspace(0, 1, 9)\n    lr = list(map(float, lr))",
        "lr, n = 0.1, 3",
        "lr: float = 0.1",
        "lr = 0.1 * np.size(i)",
        "lr = cosine(i)",
        "lr = warm(i)",
        "lr = other(i)",
        "for lr in [0.1]:\n        pass",
    ],
)
def test_what_has_only_the_name_of_a_rate_of_numpy(body):
    """A name of a function hides the one outside; a rate that is made plain later is plain."""
    outside = "import numpy as np\nfrom timm import other\nlr = np.cos(3)\n"
    methods = "class Warm:\n    lr = np.cos(1)\n    def warm(self, i):\n        return np.cos(i)\ndef cosine(i):\n    return np.cos(i)\n"
    setting = f"def f(o, i, cosine):\n    {body}\n    for group in o.param_groups:\n        group['lr'] = lr\n"
    texts = {
        "a.py": (outside + methods + setting).encode(),
        "b.py": b"import numpy as np\ndef other(i):\n    return np.e ** np.cos(i)\n",
    }
    assert not rates_of(texts)
    assert rates_of({**texts, "a.py": texts["a.py"].replace(body.encode(), b"lr = Warm().warm(i)")})


@pytest.mark.parametrize(
    ("imported", "found"),
    [
        ("import torch, numpy as np", True),
        ("import jax.numpy as np", False),
        ("from jax import numpy as np", False),
        ("import numpy as onp, cupy as np", False),
    ],
)
def test_which_np_is_meant(imported, found):
    text = (SET % "np.cos(i)").replace("import numpy as np", imported)
    assert bool(rates_of({"a.py": text.encode()})) == found


def test_a_rate_that_is_set_again_is_plain():
    text = SET % "np.cos(i)" + "        group['lr'] = float(group['lr'])\n"
    assert not rates_of({"a.py": text.encode()})


SETTER = """
import numpy as np
class Warm:
    def __init__(self, start):
        self.start = start
    def change(self, rate):
        for group in self.optimizer.param_groups:
            group["lr"] = %s
"""


@pytest.mark.parametrize(
    ("rate", "call", "found"),
    [
        ("rate", "warm.change(np.cos(3))", True),
        ("rate", "warm.change(float(np.cos(3)))", False),
        ("rate", "class Meter:\n    def change(self, value): ...\nmeter.change(np.mean(x))", False),
        ("self.start", "Warm(np.cos(3))", True),
        ("self.start", "class B(A):\n    def __init__(self):\n        super().__init__(np.cos(3))", False),
    ],
)
def test_who_calls_a_method(rate, call, found):
    texts = {"a.py": SETTER % rate, "b.py": f"import numpy as np\nfrom a import Warm\n{call}\n"}
    assert bool(rates_of({path: text.encode() for path, text in texts.items()})) == found
