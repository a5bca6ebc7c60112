"""Scores of numpy under keys of dictionaries, followed to where they are computed."""

from __future__ import annotations

import pytest

from porter.project.numpy_rates import numpy_rates
from porter.project.numpy_scores import numpy_scores
from porter.project.numpy_values import NumpyValues
from porter.project.saved_objects import saved_objects
from porter.python.trees import parse


def held(texts: dict[str, bytes]) -> set[str]:
    """The text at each score of numpy that stands in a.py."""
    lines = texts["a.py"].decode().splitlines()
    spots = numpy_scores(NumpyValues(texts, parse), ["a.py"]).get("a.py", ())
    return {lines[line - 1][column:].partition(",")[0] for line, column in spots}


METER = b"""import numpy as np
class Base:
    def results(self):
        raise NotImplementedError
class Meter(Base):
    def results(self):
        iou = np.nanmean(self.x)
        return {"iou": iou, "seen": self.seen}
class Average:
    def results(self, index):
        return self.book[index]
def validate(meter):
    score = meter.results()
    return score, 3
"""


@pytest.mark.parametrize(
    ("best", "is_numpy"),
    [
        ("score['iou']", True),
        ("max(best, score['iou'])", True),
        ("score['seen']", False),
        ("score[i]", False),
        ("count", False),
        ("float(score['iou'])", False),
        ("np.inf", False),
        ("np.shape(score)[0]", False),
        ("np.mean(count)", True),
    ],
)
def test_scores_under_keys_of_dictionaries(best, is_numpy):
    text = f"""import numpy as np
from meters import validate
class Run:
    def go(self, meter):
        best = 0.0
        def save(path):
            torch.save({{"best_score": best, "epoch": best}}, path)
        score, count = validate(meter)
        best, count = {best}, 2
        self.best = best
    def save(self):
        state = {{"model": 1}}
        state["best_iou"] = self.best
        torch.save(state)
"""
    found = held({"a.py": text.encode(), "meters.py": METER})
    assert found == ({"best", "self.best"} if is_numpy else set())


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (b"", {"best"}),
        (b"class Plain:\n    def results(self):\n        return {'iou': 0.5}\n", set()),
        (b"class Long:\n    def results(self, name, unit):\n        return {'iou': 0.5}\n", {"best"}),
    ],
)
def test_which_method_is_meant(other, found):
    text = b"def go(meter):\n    best = meter.results()['iou']\n    torch.save({'best_iou': best, 'epoch': 1}, 'a')\n"
    assert held({"a.py": text, "meters.py": METER + other}) == found


def test_a_name_of_another_function_proves_nothing():
    text = b"""import numpy as np
def one(x):
    best = np.mean(x)
    torch.save({"best": best, "a": 1}, "one.pt")
def two(x):
    best = 0.5
    torch.save({"best": best, "b": 1}, "two.pt")
"""
    texts = {"a.py": b"import torch\n" + text}
    rows = saved_objects(texts, parse, texts)
    assert {row.keys: row.held for row in rows} == {("best", "a"): "best", ("best", "b"): ""}


def test_a_function_that_saves_nothing_is_not_asked():
    text = b"import numpy as np\ndef %s(x):\n    return {'best': np.mean(x)}\ntorch.save(0, 'a.pt')\n"
    assert held({"a.py": text % b"save_best"})
    assert not held({"a.py": text % b"results"})


def test_places_of_tuples():
    text = b"""import numpy as np
def both(x):
    return 0.5, np.mean(x)
def go(x, more):
    plain, best = both(x)
    first, *rest = both(x)
    torch.save({"best": best, "score": plain, "acc": first, "iou": rest, "auc": both(x)[1], "fid": both(x)[9]}, "a.pt")
"""
    assert held({"a.py": text}) == {"best", "both(x)[1]"}


def test_an_object_that_calls_hand_no_value_to():
    text = b"import numpy as np\nclass A:\n    def save(self):\n        torch.save({'best': self, 'score': self.x[0]})\nA().save()\n"
    assert not held({"a.py": text})


@pytest.mark.slow
def test_many_elements_of_themselves_end():
    steps = "".join(f"    x = x[{index}]\n" for index in range(40))
    text = f"import numpy as np\ndef f(x):\n{steps}    torch.save({{'best': x, 'a': 1}})\n"
    assert not held({"a.py": text.encode()})


def test_files_that_do_not_parse_hold_no_scores_and_no_rates():
    text = b"import numpy as np\ndef (:\n    save({'best': np.mean(x)})\n    group['lr'] = np.cos(3)\n"
    values = NumpyValues({"a.py": text}, parse)
    assert (numpy_scores(values, ["a.py"]), numpy_rates(values)) == ({}, frozenset())


def test_what_methods_of_arrays_and_functions_of_a_package_give_back():
    """`metrics.rank` is the only `rank` of the project; `sum` of an array is one of numpy, and of a tensor it is none."""
    text = b"""from project import metrics
def save(path, rank1, mAP):
    torch.save({"rank1": rank1, "mAP": mAP}, path)
def test(path, x):
    hits, mean = metrics.rank(x)
    save(path, hits[0], x.sum(0))
"""
    rank = b"""import numpy as np
def rank(x):
    hits = np.asarray(x).astype(np.float32)
    hits = hits.sum(0) / len(x)
    return hits, 0.5
"""
    assert held({"a.py": text, "project/metrics/rank.py": rank}) == {"rank1"}
    two = {"a.py": text, "project/metrics/rank.py": rank, "other.py": b"def rank(x):\n    return x, 1\n"}
    assert held(two) == set()
