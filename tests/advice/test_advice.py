"""Advice: each piece is given where its trigger holds and not where it nearly does, with places that exist; the guides."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
import tomli

from porter.advice import load, schema
from porter.advice.rank import MOST, SHOWN, advise
from porter.advice.scripts import observed as said
from porter.advice.world import gather
from porter.analysis.analyse import analyse, kind, may_concern
from porter.analysis.session import open_session
from porter.engine.facts import Facts
from porter.files.kinds import PYTHON, kind_of
from porter.files.script_texts import SPEAKS
from porter.report.advice import of_standing
from porter.rulebook.errors import RuleError
from porter.rulebook.table import LANGUAGES
from porter.rulebook.texts import Texts
from porter.target import SOCS, Target

ROOT = Path(__file__).parents[2]
CASES = tomli.loads((ROOT / "tests/advice.toml").read_text("utf-8"))["case"]
ROWS = {row["id"]: row for row in load.advice()["advice"]}
LOOP = """import torch
model = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in range(3):
    loss = model(torch.ones(1, 3)).sum()
    loss.backward()
    optimizer.step()
"""


def given(files: dict[str, str], soc: str = "A2"):
    """What `porter advise` would say of these files."""
    session = open_session(Target(soc=soc), Facts())
    data = {path: text.replace("LOOP", LOOP).encode() for path, text in files.items()}
    results = [analyse(p, d, session) for p, d in data.items() if kind(p) == PYTHON or may_concern(p, d, session)]
    findings = [f for result in results for f in result.findings]
    assert not [f for f in findings if f.code in ("PRT002", "PRT003")], "a case has to be a program"
    scripts = [(p, d) for p, d in data.items() if kind_of(p) in SPEAKS]
    return advise(gather(results, findings, scripts, soc)), data


def test_every_piece_has_a_case():
    assert sorted(case["id"] for case in CASES) == sorted(ROWS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_given_where_it_holds(case):
    found, data = given(case["yes"], case.get("soc", "A2"))
    [mine] = [a for a in found if a.row["id"] == case["id"]]
    assert f"{mine.places[0].path}:{mine.places[0].line}" == case["at"], "the line that calls for it is named first"
    for place in mine.places:
        assert 1 <= place.line <= len(data[place.path].splitlines()), place
    for key in ("title", "text"):
        for lang in LANGUAGES:
            assert "{" not in mine.text(key, lang).replace("{micro", ""), mine.text(key, lang)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_not_given_where_it_does_not(case):
    found, _ = given(case["no"], case.get("soc", "A2"))
    assert case["id"] not in [a.row["id"] for a in found]


def test_the_chip_decides():
    bound = [case for case in CASES if "soc" in ROWS[case["id"]]]
    assert bound
    for case in bound:
        other = next(soc for soc in SOCS if soc not in ROWS[case["id"]]["soc"])
        found, _ = given(case["yes"], other)
        assert case["id"] not in [a.row["id"] for a in found]


def test_tests_and_documents_of_a_repository_call_for_nothing():
    for folder in ("tests/", "docs/"):
        assert given({folder + "train.py": "LOOP\ntorch.manual_seed(1)\n"})[0] == []


def test_of_a_collection_each_project_speaks_for_itself():
    files = {
        "vision/gan/train.py": "LOOP\nbeta2 = 0.999\ntorch.manual_seed(1)\n",
        "audio/asr/train.py": "LOOP\nimport random\nrandom.seed(1)\n",
        "text/gpt/train.py": "LOOP\nclass GPT(torch.nn.Module):\n    pass\nmax_iters = 9\n",
    }
    found, _ = given(files)
    assert "adam-beta2" not in [a.row["id"] for a in found]
    [unseeded] = [a for a in found if a.row["id"] == "seeds-missing"]
    assert [p.path for p in unseeded.places] == ["text/gpt/train.py"]
    whole, _ = given(files | {"setup.py": ""})
    ids = [a.row["id"] for a in whole]
    assert "adam-beta2" in ids and "seeds-missing" not in ids


def test_the_backward_pass_of_an_extension_is_no_training_loop():
    blur = """import torch
import blur_cuda


class Blur(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad):
        return blur_cuda.backward(grad)
"""
    places = [p.path for a in given({"train.py": "LOOP", "ops/blur.py": blur})[0] for p in a.places]
    assert "train.py" in places and "ops/blur.py" not in places


def test_a_model_that_is_cast_is_not_computed_in_float32():
    files = {"train.py": "LOOP\nconv = torch.nn.Conv2d(3, 8, 3)\n"}
    assert "mixed-precision-missing" in [a.row["id"] for a in given(files)[0]]
    files["train.py"] += "if args.fp16:\n    model = wrap(conv).cuda().half()\n"
    assert "mixed-precision-missing" not in [a.row["id"] for a in given(files)[0]]


def test_a_value_stands_in_the_title():
    found, _ = given(
        {"train.py": "LOOP", "run.sh": "torchrun --nproc_per_node=8 train.py --tensor-model-parallel-size=16\n"}
    )
    [mine] = [a for a in found if a.row["id"] == "tensor-parallel-across-nodes"]
    assert mine.text("title", "en") == "Tensor parallelism (16) reaches beyond a node"
    assert [(p.path, p.line) for p in mine.places] == [("run.sh", 1)]


def test_what_matters_more_comes_first():
    found, _ = given({"train.py": "LOOP\ntorch.manual_seed(1)\n", "run.sh": "export CUDA_LAUNCH_BLOCKING=1\n"})
    for chapter in schema.CHAPTERS:
        scores = [a.score for a in found if a.row["chapter"] == chapter]
        assert scores == sorted(scores, reverse=True) and scores


@pytest.mark.parametrize(
    "path, text, wanted",
    [
        ("a.sh", "LR=1e-4\npython t.py \\\n  --lr ${LR} --seed=7 --bf16 --tp-size ${TP:-4}\n",
         {("value:learning_rate", "1e-4", 1), ("value:learning_rate", "1e-4", 3), ("value:seed", "7", 3),
          ("value:bf16", "true", 3), ("value:tensor_parallel", "4", 3)}),
        ("a.sh", "A=$A\npython t.py --lr $A\n", {("value:learning_rate", "$A", 2)}),
        ("a.yaml", "train:\n  lr: 1.0e-4 # small\n  num-layers: '12'\n  warmup_steps:\n", {("value:learning_rate", "1.0e-4", 2), ("value:num_layers", "12", 3)}),
        ("a.json", '{"optimizer": {"lr": 3e-5, "x": [1]},\n "vocab_size":32000}', {("value:learning_rate", "3e-5", 1), ("value:vocab_size", "32000", 2)}),
        ("a.toml", "[training]\nseed = 1\n", {("value:seed", "1", 2)}),
    ],
)  # fmt: skip
def test_settings_of_scripts(path, text, wanted):
    assert set(said(path, text.encode())) == wanted


def test_values_of_python():
    text = LOOP + (
        "from dataclasses import dataclass, field\nlr: float = 3 * 1e-4\n@dataclass\nclass C:\n    seed: int = 5\n"
        "    dropout: float = field(default=0.2)\n    weight_decay: float = other\nrun(max_grad_norm=-1, lr=compute())\n"
        "stage = 3\nx = {'bf16': {'enabled': True}, 'warmup_steps': 9, **more}\n"
    )
    [result] = [analyse("t.py", text.encode(), open_session())]
    values = {(name, value) for name, value, _ in result.observed if name.startswith("value:")}
    assert values == {
        ("value:learning_rate", repr(3 * 1e-4)), ("value:seed", "5"), ("value:dropout", "0.2"), ("value:clip_grad", "-1"), ("value:warmup", "9"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "stanza, why",
    [
        ('[[advise]]\nid = "x"\n', "unknown stanza"),
        ('[[sign]]\nname = "x"\npattern = "("\n', "no regular expression"),
        ('[[sign]]\nname = "x"\npattern = "x"\nwords = [".x("]\n', "letters, digits and _"),
        ('[[model]]\nname = "x"\nwhen = [{ sign = ["nowhere"] }]\n', "which no stanza describes"),
        ('[[model]]\nname = "x"\nwhen = [{ above = 3 }]\n', "names none of"),
        ('[[entry]]\nguide = "g"\nkind = "row"\ntext = { en = "x", zh = "x" }\n', "either 'answer' or 'none'"),
        (
            '[[advice]]\nid = "x"\nchapter = "precision"\npriority = 1\ntitle = { en = "x", zh = "x" }\ntext = { en = "x", zh = "x" }\nwhen = [{ import = ["x"] }]\nevidence = []\ngrade = "V"\nworth = [{ import = ["x"] }]\n',
            "'worth' without 'adds'",
        ),
        ('[[source]]\nname = "x"\ntitle = { en = "x" }\n', "no text in one of"),
    ],
)
def test_a_mistake_in_the_data_is_named(stanza, why):
    with pytest.raises(RuleError, match=why):
        schema.build([("advice/x.toml", stanza.encode())])


def commands() -> set[str]:
    from typer.main import get_command

    from porter.cli.app import app

    return set(get_command(app).commands)


def symptoms() -> set[str] | None:
    """What `porter diagnose` knows; None as long as it does not exist."""
    file = load.directory().parent / "diagnose.toml"
    if not file.exists():
        return None
    data = tomli.loads(file.read_text("utf-8"))
    return {row.get("name") or row.get("id") for rows in data.values() for row in rows}


def test_every_heading_and_row_of_the_guides_is_answered():
    index = load.index()
    for guide in index["guide"]:
        kinds = [entry["kind"] for entry in index["entry"] if entry["guide"] == guide["name"]]
        assert (kinds.count("heading"), kinds.count("row")) == (guide["headings"], guide["rows"]), guide["name"]
    texts, known = Texts(), symptoms()
    answers = {
        "advice": set(ROWS),
        "env": {row["variable"] for row in texts.named("exports").values()},
        "step": {row["name"] for row in texts.named("steps").values()},
        "command": commands() | ({"diagnose"} if known is None else set()),
        "diagnose": known,
    }
    for entry in index["entry"]:
        for answer in entry.get("answer", ()):
            kind, colon, name = answer.partition(":")
            there = name in answers[kind] if colon and answers[kind] is not None else colon or kind in texts.codes()
            assert there, f"{entry['text']['en']}: there is no {answer}"


def test_what_advice_refers_to_exists():
    codes = set(Texts().codes())
    for row in ROWS.values():
        assert codes.issuperset(row.get("see", ())), row["id"]
        assert set(SOCS).issuperset(row.get("soc", ())), row["id"]
        for condition in (*row["when"], *row.get("unless", ())):
            for name in condition.get("finding", ()):
                code, _, why = name.partition(":")
                messages = Texts().rule(code).messages
                assert not why or why in messages or code in ("PRT801", "PRT803"), name
        if row["grade"] == "I":
            assert "inference" in row["evidence"], f"{row['id']}: a hint says so"


@pytest.mark.parametrize("path, lang", [("docs/advice.md", "en"), ("docs/advice.zh.md", "zh")])
def test_the_document_is_up_to_date(path, lang, golden):
    pages = runpy.run_path(str(ROOT / "docs" / "advice_pages.py"))
    golden(ROOT / path, pages["document"](lang).encode())


def test_a_hint_is_marked(porter_of):
    files = {"setup.py": "", "ppo.py": LOOP + "obs = env.step(action)\n"}
    porter = porter_of(files)
    assert "(hint)" in porter("advise", ".").text
    rows = json.loads(porter("advise", ".", "--format", "json").text)["advice"]
    assert {row["grade"] for row in rows} > {"I"}


@pytest.mark.slow
def test_the_command(porter_of):
    porter = porter_of(
        {"setup.py": "", "train.py": LOOP + "torch.manual_seed(1)\n", "run.sh": "python train.py --lr 1\n"}
    )
    text = porter("advise", ".", "--all").text
    assert "train.py:8" in text and "HCCL_DETERMINISTIC" in text
    rows = json.loads(porter("advise", ".", "--format", "json").text)["advice"]
    document = json.loads(porter("analyze", ".", "--format", "json").text)
    assert rows == document["advice"] and rows
    markdown = porter("advise", ".", "--format", "markdown", "--lang", "zh").text
    assert all(row["title"]["zh"].split("`")[0] in markdown for row in rows), "folded or not, all of it is named"
    html = porter("analyze", ".", "--format", "html").text
    assert all(f'id="advice-{row["id"]}"' in html for row in rows)
    assert porter("advise", ".", "--format", "jsn").err.count("did you mean 'json'") == 1


@pytest.mark.slow
def test_more_places_than_are_shown_are_counted(porter_of):
    porter = porter_of({"setup.py": "", **{f"train{n}.py": LOOP for n in range(6)}})
    [first, *_] = json.loads(porter("advise", ".", "--format", "json").text)["advice"]
    assert (len(first["places"]), first["count"]) == (4, 6)
    for arguments, more in (("text en", "and 2 more"), ("markdown zh", "另有 2 处")):
        name, lang = arguments.split()
        assert more in porter("advise", ".", "--all", "--format", name, "--lang", lang).text
    assert "and 2 more" in porter("analyze", ".", "--format", "html").text


@pytest.mark.slow
def test_ten_are_shown_and_the_rest_is_folded(porter_of):
    values = ["vocab_size = 50257", "n_layer = 12", "max_iters = 9", "dropout = 0.1", "warmup_steps = 5", "accumulation_steps = 4",
              "beta2 = 0.999", "grad_clip = 5.0", "initializer_range = 0.02", "reduce_dtype = 'bf16'", "moe_aux_loss_coeff = 0.1"]  # fmt: skip
    text = LOOP + "import torch.distributed as dist\nclass GPTMoE(torch.nn.Module):\n    pass\n" + "\n".join(values)
    text += (
        "\ndist.init_process_group('nccl')\ngroup = dist.new_group([0])\nact = torch.nn.GELU()\ntorch.manual_seed(1)\n"
    )
    porter = porter_of({"setup.py": "", "train.py": text})
    rows = json.loads(porter("advise", ".", "--format", "json").text)["advice"]
    standing = {row["id"]: row["standing"] for row in rows}
    assert [*standing.values()].count("here") == SHOWN < len(rows) - 5
    often = {row["id"] for row in ROWS.values() if row.get("often", 0) >= MOST}
    assert {name for name, kind in standing.items() if kind == "common"} == often & standing.keys() != set()
    lines = porter("advise", ".").text
    assert lines.count("    Place: ") == SHOWN and "Of every training run: " in lines and "Worth less here: " in lines
    assert all(f"[{name}]" in lines.replace("\n", " ") for name, kind in standing.items() if kind != "here")
    assert porter("advise", ".", "--all").text.count("    Place: ") == len(rows)
    html = porter("analyze", ".", "--format", "html").text
    assert html.count('<li id="advice-') == len(rows)
    folded = "".join(re.findall(r"(?s)<details><summary>.*?</details>", html[html.index('id="precision"') :]))
    assert {name for name in standing if f'id="advice-{name}"' in folded} == {
        n for n, kind in standing.items() if kind != "here"
    }


def scores(files: dict[str, str]) -> dict[str, int]:
    return {a.row["id"]: a.score for a in given(files)[0]}


def test_what_a_piece_is_worth_depends_on_what_else_is_here():
    text = "LOOP\ntorch.distributed.init_process_group('nccl')\ngroup = torch.distributed.new_group([0])\n"
    alone = scores({"train.py": text, "run.sh": "torchrun train.py\n"})
    nodes = scores({"train.py": text, "run.sh": "torchrun --nnodes 4 train.py\n"})
    assert nodes["warm-communicators"] > alone["warm-communicators"]
    conv = "LOOP\nconv = torch.nn.Conv2d(3, 8, 3)\n"
    short = conv + "with torch.autocast('cuda'):\n    pass\n"
    assert scores({"train.py": short})["hf32-convolutions"] < scores({"train.py": conv})["hf32-convolutions"]
    assert scores({"examples/a.py": conv})["hf32-convolutions"] < scores({"train.py": conv})["hf32-convolutions"]


def test_a_report_of_an_earlier_version_shows_all():
    assert of_standing([{"id": "x"}], "here") == [{"id": "x"}] and of_standing([{"id": "x"}], "common") == []


def test_a_remark_behind_code_calls_for_nothing():
    assert "boxes" not in str(analyse("a.py", b"import torch\nmost = 3  # of nms(boxes)\n", open_session()).observed)
    said = analyse("a.py", b"import torch\nkeep = nms(boxes, '#')\n", open_session()).observed
    assert ("sign:boxes", "", 2) in said


def test_nothing_to_say(porter_of):
    assert "Nothing here calls for advice." in porter_of({"setup.py": "", "a.py": "import torch\n"})("advise", ".").text


@pytest.fixture
def porter_of(tmp_path, monkeypatch):
    from report_samples import made

    return lambda files: made(monkeypatch, tmp_path / "r", files)


HALF = """import torch
def step(ARGUMENTS):
    with torch.autocast("cuda"):
        loss = model(x).sum()
    loss.backward()
"""
TRAINS = {"train.py": "LOOP\nclass GPT(torch.nn.Module):\n    pass\n"}


@pytest.mark.parametrize(
    ("advice", "files", "expected"),
    [
        ("norm-epsilon", {"config.json": '{"layer_norm_eps": 1e-12}'}, False),  # BERT's norm is a LayerNorm
        ("norm-epsilon", {"config.json": '{"norm_eps": 1e-05}'}, False),  # of which norm, nothing says
        (
            "norm-epsilon",
            {
                "config.json": '{"norm_eps": 1e-05}',
                "norm.py": "import torch\nclass RMSNorm(torch.nn.Module):\n    pass\n",
            },
            True,
        ),
        (
            "silent-error-detection",
            {"run.sh": "torchrun --nnodes 8 train.py --num-layers 2 --hidden-size 256\n"},
            False,
        ),
        ("loss-scale-missing", {"step.py": HALF.replace("ARGUMENTS", "model, x")}, True),
        (
            "loss-scale-missing",
            {"step.py": HALF.replace("ARGUMENTS", "model, x, scaler").replace("loss.b", "scaler.scale(loss).b")},
            False,
        ),  # it is handed one
    ],
)
def test_advice_is_for_what_it_speaks_of(advice: str, files: dict[str, str], expected: bool) -> None:
    assert (advice in {row.row["id"] for row in given(TRAINS | files)[0]}) is expected


def test_a_drop_path_is_not_called_dropout() -> None:
    found, _ = given(TRAINS | {"run.sh": "python train.py --drop_path_rate 0.2\n"})
    [mine] = [row for row in found if row.row["id"] == "dropout-off"]
    assert [place.label for place in mine.places] == ["drop_path = 0.2"]


def test_what_a_case_showed_is_told_as_it_was() -> None:
    """Of beta2 the guide gives no value, and 13B needed more; the 0.1 of the loss remained after the embedding agreed."""
    beta2, parts = ROWS["adam-beta2"], ROWS["dtype-of-each-part"]
    assert beta2["grade"] == "E" and "llama2" in beta2["evidence"] and "no dropout" in beta2["text"]["en"]
    assert "local norm" in parts["text"]["en"] and "0.1" not in parts["text"]["en"]
