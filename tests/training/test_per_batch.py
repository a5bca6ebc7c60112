"""Functions that a step in another file runs for every batch: which they are, and what is parsed to see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter.analysis import calls
from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.engine.facts import Facts
from porter.finding import FileResult
from porter.project.modules import may_be
from porter.python.kept import anew
from porter.rulebook.texts import Texts
from porter.run.cache import Cache
from porter.run.gather import gather
from porter.training.calls import per_batch as module

HELPER = b"""\
import torch


def total(x):
    return x.detach().sum().item()


def middle(x):
    return total(x)


class Loss:
    def __call__(self, x):
        return x.detach().norm().item()

    def parts(self, x):
        return x.tolist()
"""
STEP = """\
import torch
{imports}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = {made}

    def forward(self, x):
        return {call}
"""


def names(folder: Path, **files: bytes | str) -> list[tuple[str, str]]:
    texts = {path.replace("__", "/") + ".py": text for path, text in files.items()}
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(one.path, one.name) for one in gather(folder, sorted(texts)).served]


@pytest.mark.parametrize(
    ("imports", "made", "call", "found"),
    [
        ("from pack.helper import total", "None", "total(x)", "total"),
        ("from pack.helper import total as summed", "None", "summed(x)", "total"),
        ("from pack.helper import Loss as L", "L()", "self.loss(x)", "Loss.__call__"),
        ("from pack import helper", "None", "helper.total(x)", "total"),
        ("import pack.helper as h", "None", "h.total(x)", "total"),
        ("from pack.helper import middle", "None", "middle(x)", "middle"),
        ("from pack.helper import Loss", "Loss()", "self.loss(x)", "Loss.__call__"),
        ("from pack.helper import Loss", "Loss().cuda()", "self.loss.parts(x)", "Loss.parts"),
        ("from pack.helper import Loss", "Loss()", "self.other.parts(x)", ""),
        ("from pack.helper import Loss", "Loss() if x else None", "self.loss.parts(x)", ""),
        ("from elsewhere import total", "None", "total(x)", ""),
        ("from pack.helper import total", "None", "x if self.training else total(x)", ""),
        ("from pack.helper import total", "total(1)", "x", ""),
    ],
)
def test_what_a_forward_calls(tmp_path: Path, imports: str, made: str, call: str, found: str) -> None:
    step = STEP.format(imports=imports, made=made, call=call)
    assert names(tmp_path, pack__helper=HELPER, net=step) == ([("pack/helper.py", found)] if found else [])


def test_what_a_package_hands_on(tmp_path: Path) -> None:
    step = STEP.format(imports="from .pack import total", made="None", call="total(x)")
    (tmp_path / "a" / "pack").mkdir(parents=True)
    (tmp_path / "a" / "pack" / "__init__.py").write_text("from .helper import total\n")
    (tmp_path / "a" / "pack" / "helper.py").write_bytes(HELPER)
    (tmp_path / "a" / "net.py").write_text(step)
    found = gather(tmp_path, ["a/net.py", "a/pack/__init__.py", "a/pack/helper.py"]).served
    assert [(one.path, one.name, one.by) for one in found] == [("a/pack/helper.py", "total", "a/net.py")]


def test_a_method_that_a_class_of_another_file_hands_down_or_defines_anew(tmp_path: Path) -> None:
    base = """\
import torch


class Base(torch.nn.Module):
    def forward(self, x):
        return self.head(x)

    def pick(self, x):
        return x.nonzero()
"""
    heir = """\
import torch
from base import Base


class Heir(Base):
    def head(self, x):
        return self.pick(x)[: x.sum().item()]
"""
    assert names(tmp_path, base=base, heir=heir) == [("base.py", "Base.pick"), ("heir.py", "Heir.head")]


def test_only_files_on_the_way_from_a_step_are_parsed(tmp_path: Path, monkeypatch) -> None:
    parsed, real = [], calls.calls
    monkeypatch.setattr("porter.run.gather.calls", lambda path, *rest: parsed.append(path) or real(path, *rest))
    step = STEP.format(imports="from helper import total", made="None", call="total(x)")
    files = {f"net{n}": step for n in range(5)}
    idle = STEP.format(imports="from helper import Loss", made="None", call="x")
    assert names(tmp_path, helper=HELPER, idle=idle, **files) == [("helper.py", "total")]
    assert parsed == ["net0.py"]  # one caller is enough


def test_what_is_read_is_remembered(tmp_path: Path) -> None:
    step = STEP.format(imports="from helper import total", made="None", call="total(x)")
    texts, kept, made = {"helper.py": HELPER, "net.py": step.encode()}, {}, []

    def remember(key, make):
        if key not in kept:
            made.append(key.partition("\0")[0])
            kept[key] = make()
        return kept[key]

    first = module.served(texts, remember, None, calls.calls)
    assert first == module.served(texts, remember, None, calls.calls) and made == ["served", "calls"]
    module.served({**texts, "other.py": b"import torch"}, remember, None, calls.calls)
    assert made == ["served", "calls", "served"]
    module.served({**texts, "net.py": step.replace("total(x)", "total(x) + 1").encode()}, remember, None, calls.calls)
    assert made[3:] == ["served", "calls"]


def test_who_asks_for_one_file_is_told_what_a_look_at_all_says(tmp_path: Path, monkeypatch) -> None:
    parsed, real = [], calls.calls
    monkeypatch.setattr(calls, "calls", lambda path, *rest: parsed.append(path) or real(path, *rest))
    step = STEP.format(imports="from helper import middle", made="None", call="middle(x)")
    other = STEP.format(imports="from second import Other", made="Other()", call="self.loss(x)")
    texts = {
        "helper.py": HELPER,
        "second.py": HELPER.replace(b"Loss", b"Other"),
        "a.py": other.encode(),
        "b.py": step.encode(),
        "c.py": step.encode(),
    }
    whole = module.served(texts, anew, None, calls.calls)
    assert {(one.path, one.name, one.by) for one in whole} == {
        ("helper.py", "middle", "b.py"),
        ("second.py", "Other.__call__", "a.py"),
    }
    parsed.clear()
    assert module.served(texts, anew, {"helper.py"}, calls.calls) == tuple(
        one for one in whole if one.path == "helper.py"
    )
    assert parsed == ["b.py"]


def test_a_result_that_is_kept_belongs_to_those_who_call_the_file(tmp_path: Path) -> None:
    cache, result = Cache(tmp_path / "kept.sqlite"), FileResult("helper.py", (), digest="d")
    alone, called = open_session(), open_session(facts=Facts(served=(module.Served("helper.py", "total", "net.py"),)))
    elsewhere = open_session(facts=Facts(served=(module.Served("other.py", "total", "net.py"),)))
    cache.keep([result], alone)
    wanted = [(1, "helper.py", "d")]
    assert cache.known(wanted, alone)[1] == cache.known(wanted, elsewhere)[1] == []
    assert cache.known(wanted, called)[1] == wanted


def test_the_message_names_the_file_that_calls(tmp_path: Path) -> None:
    step = STEP.format(imports="from helper import total", made="None", call="total(x)")
    names(tmp_path, helper=HELPER, net=step)
    session = open_session(facts=gather(tmp_path, ["helper.py", "net.py"]))
    (finding,) = (f for f in analyse("helper.py", HELPER, session).findings if f.code == "PRT630")
    assert finding.line == 5
    assert Texts().message(finding).endswith("; net.py calls it for every batch")
    assert Texts().message(finding, "zh").endswith("；net.py 对每个 batch 都会调用它")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("    y = 2 * x\n    return y.sum().item()", True),
        ("    if DEBUG:\n        return 0\n    return x.sum().item()", True),
        ("    if x is None:\n        raise ValueError\n    return x.sum().item()", True),
        ("    return most if most else x.sum().item()", False),
        ("    if most:\n        return x.sum().item()\n    return x", False),
        ("    many = len(x)\n    if many > 3:\n        return x\n    return x.sum().item()", False),
        ("    match most:\n        case 1:\n            return x.sum().item()", False),
        ("    with torch.no_grad():\n        if most:\n            pass\n        return x.sum().item()", True),
    ],
)
def test_no_file_is_named_where_its_arguments_may_lead_past_the_line(tmp_path: Path, body: str, named: bool) -> None:
    helper = f"import torch\n\n\ndef total(x, most=0):\n{body}\n"
    names(tmp_path, helper=helper, net=STEP.format(imports="from helper import total", made="None", call="total(x)"))
    session = open_session(facts=gather(tmp_path, ["helper.py", "net.py"]))
    (finding,) = (f for f in analyse("helper.py", helper.encode(), session).findings if f.code == "PRT630")
    assert ("net.py" in Texts().message(finding)) is named


@pytest.mark.parametrize(
    ("full", "user", "path", "found"),
    [
        ("utils.loss.f", "train.py", "utils/loss.py", True),
        ("utils.loss.f", "train.py", "src/utils/loss.py", True),
        ("utils.f", "train.py", "utils/loss.py", True),
        ("loss.f", "train.py", "utils/loss.py", True),
        (".loss.f", "utils/train.py", "utils/loss.py", True),
        (".loss.f", "train.py", "utils/loss.py", False),
        ("..loss.f", "utils/deep/train.py", "utils/loss.py", True),
        (".f", "utils/train.py", "utils/loss.py", True),
        ("other.f", "train.py", "utils/loss.py", False),
        ("f", "train.py", "utils/loss.py", False),
        ("utils.loss.g", "train.py", "utils/loss.py", False),
    ],
)
def test_which_file_an_import_can_mean(full: str, user: str, path: str, found: bool) -> None:
    assert may_be(full, user, path, "f") is found


def test_of_several_modules_of_a_name_the_nearest_is_imported() -> None:
    files = frozenset({"a/utils", "b/utils", "b/deep/net"})
    assert may_be("utils.f", "b/deep/net.py", "b/utils.py", "f", files)
    assert not may_be("utils.f", "b/deep/net.py", "a/utils.py", "f", files)
    assert may_be("utils.f", "net.py", "a/utils.py", "f", files)
