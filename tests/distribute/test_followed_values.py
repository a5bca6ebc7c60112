"""`porter migrate --distribute`: values that are made elsewhere, and other forms of devices, losses and metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
from distribute_world import HEAD, PLAIN, Project

pytestmark = pytest.mark.slow  # each writes a project anew, and reads it again

LOADER = "loader = DataLoader(data, batch_size=8, shuffle=True)"
MOVE = "    model = model.cuda()\n"
LOSS = "torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())"
TRAINER = (
    HEAD
    + """class Base:
    def __init__(self):
        self.model = None


class Trainer(Base):
    def __init__(self, data):
        super().__init__()
        self.loader, self.held = DataLoader(data, 8), DataLoader(data)
        self.model = torch.nn.Linear(4, 2)
        self.model.to("cuda:0")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, epochs):
        for epoch in range(epochs):
            for x, y in self.loader:
                loss = torch.nn.functional.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


if __name__ == "__main__":
    Trainer([(torch.randn(4), 0) for _ in range(32)]).fit(2)
"""
)
FLAT = (
    HEAD
    + """data = [(torch.randn(4), 0) for _ in range(32)]
loader = DataLoader(data, **{"batch_size": 8})
model = torch.nn.Linear(4, 2)
if True:
    model = model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)
OWN = (
    HEAD
    + """class Net(torch.nn.Module):
    def fit(self, loader):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(self(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


model = Net().cuda()
model.fit(DataLoader([], 8))
"""
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(monkeypatch, tmp_path / "r")


def changed(old: str, new: str, text: str = PLAIN) -> str:
    assert old in text
    return text.replace(old, new, 1)


DEVICES = {
    'one = torch.device("cuda:0")': 'one = torch.device("npu")',
    'one = torch.device("cuda:" + str(gpu))': 'one = torch.device("npu")',
    'one = torch.device("cuda:%d" % gpu)': 'one = torch.device("npu")',
    'one = torch.device("cuda", gpu)': 'one = torch.device("npu")',
    'one = torch.device("cuda", index=gpu)': 'one = torch.device("npu")',
    "model.cuda(gpu, non_blocking=True)": "model.npu(non_blocking=True)",
    "model.cuda(device=gpu)": "model.npu(device=porter_distributed.local_rank())",
    "model.cuda(other)": "model.npu(other)",  # nobody knows whether that is a number
    "with torch.cuda.device(0): pass": "with torch.npu.device(porter_distributed.local_rank()): pass",
}


@pytest.mark.parametrize("line", DEVICES)
def test_each_form_of_a_device_is_that_of_the_rank(line: str, place: Project) -> None:
    text = place.written(changed(MOVE, f"{MOVE}    gpu = other = 0\n    {line}\n"))
    assert f"    {DEVICES[line]}\n" in text


LOADERS = {
    "of a dictionary": (
        'loaders = {"train": DataLoader(data, 8), "test": DataLoader(data)}\n    loader = loaders["train"]',
        '{"train": porter_distributed.loader(data, 8), "test": DataLoader(data)}',
    ),
    "of a list": (
        "loaders = [DataLoader(data), DataLoader(data, 8)]\n    loader = loaders[1]",
        "[DataLoader(data), porter_distributed.loader(data, 8)]",
    ),
    "of two": (
        "loader = DataLoader(data, 8) if data else DataLoader(data, 4)",
        "porter_distributed.loader(data, 8) if data else porter_distributed.loader(data, 4)",
    ),
    "with a type": ("loader: DataLoader = DataLoader(data, 8)", ": DataLoader = porter_distributed.loader(data, 8)"),
    "without a sampler": ("loader = DataLoader(data, 8, sampler=None)", "porter_distributed.loader(data, 8, sampler="),
    "in each round": (
        "for size in (4, 8):\n        loader = DataLoader(data, size)",
        "        loader = DataLoader(data, size)  # all of it\n        loader = porter_distributed.share(loader)\n",
    ),
}


@pytest.mark.parametrize("name", LOADERS)
def test_the_loader_is_found_where_it_is_made(name: str, place: Project) -> None:
    made, line = LOADERS[name]
    assert line in place.written(changed(LOADER, made))


def test_a_trainer_keeps_all_in_attributes(place: Project) -> None:
    """The model is complete where it is made and moved, not where a base says that there is none yet."""
    text = place.written(TRAINER)
    assert '        self.model.to("npu")\n        self.model = porter_distributed.parallel(self.model)\n' in text
    assert text.count("parallel(") == 1
    assert "self.loader, self.held = porter_distributed.loader(data, 8), DataLoader(data)" in text
    assert "            porter_distributed.epoch(epoch)\n            for x, y in self.loader:" in text


def test_a_model_that_a_trainer_is_given_is_wrapped_by_who_makes_it(place: Project) -> None:
    text = changed("def __init__(self, data):", "def __init__(self, net, data):", TRAINER)
    text = changed(
        "self.model = torch.nn.Linear(4, 2)\n        self.model.to(", "self.model = net\n        print(", text
    )
    text = changed("    Trainer([", "    net = torch.nn.Linear(4, 2)\n    Trainer(net, [", text)
    assert "    net = porter_distributed.parallel(net)\n    Trainer(net, [" in place.written(text)


def test_a_script_without_functions(place: Project) -> None:
    done = place.inplace(FLAT)
    assert done.code == 0, done.err
    assert "import porter_distributed\nporter_distributed.start()\n" in place.text
    assert "    model = model.npu()\nmodel = porter_distributed.parallel(model)\noptimizer" in place.text
    assert "porter_distributed.epoch()\nfor x, y in loader:" in place.text
    assert "batch_size (**)" in done.err


def test_the_weights_of_a_part_are_those_of_the_model(place: Project) -> None:
    given = "SGD(model.parameters(), lr=0.1)"
    text = place.written(
        changed(given, "SGD(weights, lr=0.1)", changed(MOVE, MOVE + "    weights = model.weight.parameters()\n"))
    )
    assert "    model = porter_distributed.parallel(model)\n    weights =" in text


def test_the_optimiser_of_a_function_of_another_file(place: Project) -> None:
    made = "import torch\n\n\ndef made(net, rate):\n    return torch.optim.SGD(net.parameters(), lr=rate)\n"
    text = changed("torch.optim.SGD(model.parameters(), lr=0.1)", "made(model, 0.1)")
    done = place.inplace(changed("import torch\n", "import torch\nfrom other import made\n", text), other=made)
    assert done.code == 0 and "other.py:5: the learning rate (rate)" in done.err
    assert "    model = porter_distributed.parallel(model)\n    optimizer = made(" in place.text
    assert place.other("other") == made


DIVIDED = {
    "anew": ("        loss = loss / len(y)\n", True),
    "in place": ("        loss /= len(y)\n", True),
    "by the passes of a step": ("        loss = loss / accumulation_steps\n", False),
    "by a number": ("        loss /= 4\n", False),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_a_sum_that_is_divided_by_its_samples_is_a_mean(name: str, place: Project) -> None:
    line, is_mean = DIVIDED[name]
    text = changed(LOSS, LOSS[:-1] + ', reduction="sum")')
    done = place.inplace(changed("        optimizer.zero_grad()\n", f"{line}        optimizer.zero_grad()\n", text))
    assert done.code == (0 if is_mean else 2), done.err
    assert is_mean or done.err.startswith("porter: train.py:9: not distributed: the loss is a sum over the batch")


METRICS = {
    "total += loss.detach().item()": "total += porter_distributed.mean(loss.detach().item())",
    "total += loss.data.item()": "total += porter_distributed.mean(loss.data.item())",
    "both = loss + loss; total += both.item()": "both = loss + loss; total += porter_distributed.mean(both.item())",
    "while y.sum() > 0: total += loss.item(); break": "while y.sum() > 0: total += loss.item(); break",
    "for one in y: total += loss.item()": "for one in y: total += loss.item()",
}


@pytest.mark.parametrize("line", METRICS)
def test_numbers_are_reduced_where_all_ranks_come(line: str, place: Project) -> None:
    assert f"        {METRICS[line]}\n" in place.written(changed("total += loss.item()", line))


SAVED = {
    "os.makedirs('out', exist_ok=True)": "    os.makedirs('out', exist_ok=True)\n",
    "log = SummaryWriter('runs')": "    log = porter_distributed.writer(SummaryWriter)('runs')\n",
    "done = torch.save(model, 'a')": "    done = torch.save(model, 'a')\n",  # its name is read behind it
    "torch.save(\n        model,\n        'a')": "        torch.save(\n            model,\n            'a')\n",
    "os.remove('a'), os.remove('b')": "    if porter_distributed.is_first():\n        os.remove('a'), os.remove('b')\n",
    "open('a').read()": "    open('a').read()\n",
}


@pytest.mark.parametrize("line", SAVED)
def test_what_one_rank_does_for_all(line: str, place: Project) -> None:
    top = "import os\nfrom torch.utils.tensorboard import SummaryWriter\nimport torch\n"
    assert SAVED[line] in place.written(changed("import torch\n", top, changed(MOVE, f"{MOVE}    {line}\n")))


def test_the_only_statement_of_a_block_that_goes_leaves_pass(place: Project) -> None:
    hides = '    import os\n    if True:\n        os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n'
    assert "    if True:\n        pass\n" in place.written(changed(MOVE, hides + MOVE))


def test_a_branch_for_one_device_asks_for_the_ranks(place: Project) -> None:
    lines = "    if torch.cuda.device_count() <= 1:\n        pass\n    else:\n        model = torch.nn.DataParallel(model)\n"
    assert "    if porter_distributed.ranks() <= 1:\n        pass\n" in place.written(changed(MOVE, MOVE + lines))


REFUSED = {
    "closure": (changed("step()", "step(again)", changed(HEAD, HEAD + "def again():\n    return 0\n\n\n")), 16, "calls again itself"),
    "stars": (changed(LOADER, "loader = DataLoader(*data)"), 21, "the arguments of the loader are not in sight"),
    "its own loop": (OWN, 8, "the step calls self,"),
    "nameless": (changed("SGD(model.parameters", "SGD(made().parameters"), 24, "the model of this step"),
    "dimension": (changed("model.cuda()", "torch.nn.DataParallel(model, dim=1)"), 23, "splits another dimension"),
    "added up": (changed(LOSS, LOSS[:-1] + ', reduction="none").sum()'), 9, "a sum over the batch"),
    "a term": (
        changed(LOSS, f"2 * made(x, y) + {LOSS}", changed(HEAD, HEAD + "made = torch.nn.MSELoss(size_average=False)\n")),
        4,
        "a sum over the batch",
    ),
    "shared without a name": (
        changed("(loader)", "(made(data))", changed(HEAD, HEAD + "def made(of):\n    return DataLoader(of)\n\n\nheld = made([])\n")),
        13,
        "not made by torch.utils.data.DataLoader",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why_and_where(name: str, place: Project) -> None:
    text, line, why = REFUSED[name]
    done = place.inplace(text)
    assert done.code == 2 and done.err.startswith(f"porter: train.py:{line}: not distributed: "), done.err
    assert why in done.err and place.text == text
