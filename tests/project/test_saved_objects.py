"""What the project's programs put into checkpoints beside tensors."""

from __future__ import annotations

import ast

import pytest

from porter.project.saved_dictionaries import dictionaries, may_be_given
from porter.project.saved_objects import saved_objects, saved_with
from porter.python.trees import parse

HEAD = b"import torch\nimport numpy as np\nargs = parser.parse_args()\n"
MODEL = HEAD + b'torch.save({"model": m.state_dict(), "epoch": 1}, "a.pt")\n'
SETTINGS = HEAD + b'torch.save({"model": m.state_dict(), "args": args, "g": g}, "a.pt")\n'


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (SETTINGS, "args"),
        (SETTINGS.replace(b"    state =", b"    state = torch.load(path)\n    state ="), "args"),
        (SETTINGS.replace(b"parser.parse_args()", b"vars(parser.parse_args())"), ""),
        (SETTINGS.replace(b'"args": args', b'"args": args.name'), ""),
        (SETTINGS.replace(b'"args": args', b'"args": cfg'), ""),
        (SETTINGS.replace(b'"args": args', b'"args": cfg') + b"cfg = OmegaConf.load(path)\n", "args"),
        (SETTINGS.replace(b'"args": args', b'"args": configs') + b"configs.train.path = path\n", "args"),
        (SETTINGS.replace(b'"args": args', b'"args": configs') + b"configs['path'] = path\n", ""),
        (SETTINGS.replace(b'"args": args', b'"args": configs') + b"print(configs.path == path)\n", "args"),
        (SETTINGS.replace(b'"args": args', b'"args": configs') + b"print(configs.get(path))\n", ""),
        (SETTINGS.replace(b'"args": args', b'"args": m.config') + b"from easydict import EasyDict\n", "args"),
        (SETTINGS.replace(b'"args": args', b'"args": self.model_cfg') + b"print(self.model_cfg.depth)\n", "args"),
        (SETTINGS.replace(b'"args": args', b'"args": cfg') + b"cfg: Any = dict(vars(a))\nprint(cfg.depth)\n", ""),
        (SETTINGS.replace(b'"args": args', b'"args": cfg') + b"print(cfg.depth)\ncfg = vars(cfg)\n", ""),
        (SETTINGS.replace(b'"args": args', b'"args": x.cpu().numpy()'), "args"),
        (SETTINGS.replace(b'"args": args', b'"args": deepcopy(de_parallel(model)).half()'), "args"),
        (SETTINGS.replace(b'"args": args', b'"args": copy.deepcopy(model).eval().cpu()'), "args"),
        (SETTINGS.replace(b'"args": args', b'"args": deepcopy(model).half().state_dict()'), ""),
        (SETTINGS.replace(b'"args": args', b'"args": deepcopy(model.state_dict())'), ""),
        (SETTINGS.replace(b'"args": args', b'"args": self.config').replace(b"import", b"import recbole, ", 1), "args"),
        (SETTINGS.replace(b"torch.save", b"np.save"), ""),
        (SETTINGS.replace(b"torch.save", b"utils.save_on_master"), "args"),
        (SETTINGS.replace(b'"args": args', b'"args": optimizer') + b"optimizer.step()\n", "args"),
        (SETTINGS.replace(b'"args": args', b'"args": optimizer') + b"optimizer = optim.Adam(m.parameters())\n", "args"),
        (SETTINGS.replace(b'"args": args', b'"args": optimizer') + b"optimizer = optimizer.state_dict()\n", ""),
        (SETTINGS.replace(b'"args": args', b'"args": optimizer'), ""),
        (SETTINGS.replace(b'"args": args', b'"args": m').replace(b"torch.save", b"fabric.save"), ""),
        (HEAD + b'def f(args):\n    state = dict(g=1)\n    state["args"] = args\n    torch.save(state)\n', "args"),
        (HEAD + b'state = {"args": args, "a": 1}\nstate = {"args": args, "a": 2}\ntorch.save(state)\n', "args"),
        (HEAD + b'def f(args):\n    state = {"args": args}\n    state = {}\n    torch.save(state)\n', ""),
    ],
)
def test_what_is_an_object(text, held):
    saved = saved_objects({"a.py": text}, parse, ["a.py"])
    assert [row.held for row in saved if row.held] == [held] * bool(held)


@pytest.mark.parametrize(
    ("text", "is_given"),
    [
        ("save({'a': 1}, path)", True),
        ("save(path, dict(a=1))", True),
        ("save(path,\n  # the state\n  {'a': 1})", True),
        ("save_on_master(state._asdict())", True),
        ("x = {'a': 1}\nsave(f(')', path), x)", True),
        ("x = (  # all of it\n    {'a': 1})\nsave(obj=x)", True),
        ("x = \\\n  dict(a=1)\ntorch . save (x)", True),
        ("x = y()\nx['a'] = 1\nsave(x)", True),
        ("x = y()\nx.update({'a': 1})\nsave(x)", True),
        ("save(save_path(), x)\nx = {}", True),
        ("save(m.state_dict(), f'{path}.pt')", False),
        ("x = f({'a': 1})\nsave(x)", False),
        ("x[0] = {'a': 1}\nself.x = {'a': 1}\nsave(x)", False),
        ("x = {'a': 1}\ndef save(x): ...\nctx.save_for_backward(y)\nsave_image(x)", False),
        ("x = {'a': 1}\nnp.savez(x)\nsave(m)  # save(x)", True),  # the comment may be code
        ("x = {'a': 1}\nsave(m, 'x')  # x", False),
    ],
)
def test_what_the_text_leaves_open(text, is_given):
    assert may_be_given(text.encode()) == is_given
    assert is_given or not list(dictionaries(ast.parse(text), text.encode(), {}))


def test_which_dictionary_is_meant():
    texts = {"a.py": MODEL, "b.py": SETTINGS, "tests/c.py": SETTINGS}
    saved = saved_objects(texts, parse, texts)

    def meant(*keys):
        return saved_with(saved, frozenset(keys), "d.py")

    assert meant("g") == ("b.py", "", ("model", "args", "g"), "args", False)
    assert meant("g", "model") and not meant("g", "other")
    assert meant("model") is None, "a.py saves it without settings"
    assert meant() is None, "nobody knows what is read"
    assert saved_with(saved, frozenset({"model"}), "b.py") is None
    assert saved_with(saved, frozenset({"model", "args"}), "b.py"), "it saves them itself"
    saved = saved[1:]
    assert meant("model")


RATES = b"""
from torch.optim.lr_scheduler import LambdaLR
scheduler = LambdaLR(optimizer, lambda step: np.cos(step))
torch.save({"state_dict": m.state_dict(), "epoch": 1, "optimizer": optimizer.state_dict()}, "a.pt")
"""


def test_rates_of_numpy_are_in_the_state_of_the_optimizer():
    texts = {"a.py": HEAD + RATES}
    saved = saved_objects(texts, parse, texts)
    assert [(row.held, row.of_rates) for row in saved] == [("optimizer", True)]

    def meant(*keys, path="b.py"):
        return saved_with(saved, frozenset(keys), path)

    assert meant("state_dict", "epoch") and meant("optimizer", "epoch")
    assert meant("state_dict") is None, "weights may be of anybody"
    texts["c.py"] = HEAD + RATES.replace(b"np.cos", b"math.cos")
    saved = saved_objects(texts, parse, texts)
    assert meant("state_dict", "epoch") is None and meant("state_dict", "epoch", path="c.py") is None
    assert meant("state_dict", "epoch", path="a.py"), "a.py saves it itself"


def test_programs_of_a_collection_load_their_own():
    texts = {"a/train.py": SETTINGS, "b/generate.py": b""}
    saved = saved_objects(texts, parse, [*texts, "a/requirements.txt", "b/requirements.txt"])
    assert saved_with(saved, frozenset({"g"}), "a/generate.py")
    assert saved_with(saved, frozenset({"g"}), "b/generate.py") is None


SAVER = (
    b"import torch\n\n\ndef save_checkpoint(epoch, model,\n        optimizer):\n"
    b'    state = {"epoch": epoch, "model": model, "optimizer": optimizer}\n    torch.save(state, "a.tar")\n'
)


@pytest.mark.parametrize(
    ("callers", "is_object"),
    [
        ([b"save_checkpoint(epoch, model, optimizer)\n"], True),
        (
            [
                b"save_checkpoint(e(1), model,\n    self.optimizer)\n",
                b"save_checkpoint(1, m, optimizer=my_optimizer)\n",
            ],
            True,
        ),
        ([b"save_checkpoint(epoch, model.state_dict(), optimizer.state_dict())\n"], False),
        ([b"save_checkpoint(1, m, optimizer)\n", b"save_checkpoint(1, m, optimizer.state_dict())\n"], False),
        ([b"save_checkpoint(1, m, state)\n"], False),
        ([b"print(1)\n"], False),
    ],
)
def test_an_optimizer_that_callers_hand_to_what_saves_it_is_an_object(callers, is_object):
    texts = {"saves.py": SAVER} | {f"{number}.py": b"import torch\n" + text for number, text in enumerate(callers)}
    saved = saved_objects(texts, parse, texts)
    assert [row.held for row in saved if row.held] == ["optimizer"] * is_object
    bound = SAVER.replace(b"    state =", b"    optimizer = optimizer.state_dict()\n    state =")
    assert not [row for row in saved_objects(texts | {"saves.py": bound}, parse, texts) if row.held]
