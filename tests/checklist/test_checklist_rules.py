"""rules/checklist: what the schema refuses, and what holds for every item."""

from __future__ import annotations

import re

import pytest

from porter.checklist.rules import checklist
from porter.checklist.schema import CHAPTERS, build
from porter.checklist.values import canonical
from porter.resources import rules_dir
from porter.rulebook.errors import RuleError

SOURCE = '[[source]]\nname = "s"\ntitle = { en = "a", zh = "甲" }\nreference = "https://x"\n'
ITEM = """
[[item]]
id = "lr"
chapter = "optimiser"
weight = 9
value = "number"
names = ["lr"]
title = { en = "a", zh = "甲" }
changes = { en = "b", zh = "乙" }
evidence = ["s"]
"""


def test_a_small_checklist_is_built():
    assert [*build([("c.toml", (SOURCE + ITEM).encode())])["checklist"]["items"]] == ["lr"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["s"]', '["t"]', "evidence: 't' is not known"), ("weight = 9", "weight = 900", "from 0 to 100"), ("weight = 9\n", "", "'weight' is missing"),
        ('"number"', '"colour"', "value: 'colour' is not known"), ('["lr"]', '["--lr"]', "is no name"), ('["lr"]', '["nobody:lr"]', "names no dialect"),
        ('zh = "乙"', 'zh = ""', "changes has no text"), ("weight = 9", "weight = 9\ncolour = 1", "unknown key 'colour'"),
        ("weight = 9", 'weight = 9\neased = { by = ["x"], weight = 1 }', "'x' is not known"), ("weight = 9", 'weight = 9\ndefault = { x = "1" }', "default: 'x' is not known"),
        ("weight = 9", 'weight = 9\nrecommended = { value = "1" }', "'recommended' has a value"), ("[[item]]", "[[thing]]", "unknown stanza 'thing'"),
        ("weight = 9", "weight = = 9", "c.toml"),
    ],
)  # fmt: skip
def test_mistakes_are_refused(old, new, said):
    with pytest.raises(RuleError, match=re.escape(said)):
        build([("c.toml", (SOURCE + ITEM.replace(old, new)).encode())])


def test_what_every_item_has():
    rules = checklist()
    chapters = [item["chapter"] for item in rules.items.values()]
    assert {*chapters} == {*CHAPTERS}
    used = {name for item in rules.items.values() for name in item["evidence"]} | {
        n for d in rules.dialects for n in d["evidence"]
    }
    assert used == rules.sources.keys()
    for name, item in rules.items.items():
        assert not re.search("[一-鿿]", item["title"]["en"] + item["changes"]["en"]), name
        assert re.search("[一-鿿]", item["changes"]["zh"]), name
        assert not item["changes"]["en"].endswith("."), name


def test_defaults_and_recommended_values_are_values():
    for name, item in checklist().items.items():
        for dialect, value in item.get("default", {}).items():
            assert value.startswith("@") or canonical(name, value, (dialect,)) is not None or value == "none", name
        if "recommended" in item:
            assert (
                canonical(name, item["recommended"]["value"], ()) == item["recommended"]["value"]
                or item["value"] == "number"
            ), name


def test_a_name_is_spelled_of_one_item_unless_it_says_two_things():
    plain = {
        key: [row for row in rows if not row.dialect and not row.implied and row.value is None and row.at is None]
        for key, rows in checklist().names.items()
    }
    assert {key: [row.item for row in rows] for key, rows in plain.items() if len(rows) > 1} == {
        "finetuning_type": ["finetuning", "lora"], "train_type": ["finetuning", "lora"], "tuner_type": ["finetuning", "lora"],
        "pet_config.pet_type": ["finetuning", "lora"],
    }  # fmt: skip


def test_every_name_of_the_guides_checklist_is_known():
    names = checklist().names
    guide = (
        "num_layers num_heads hidden_size intermediate_size n_kv_heads rms_norm_eps expert_num num_experts_chosen capacity_factor aux_loss_factor enable_sdrop"
        " router_dense_type use_shared_expert_gating eps beta1 beta2 weight_decay lr clip_grad global_batch_size param_init_type init_method_std compute_dtype"
        " layernorm_compute_type softmax_compute_type rotary_dtype data_parallel model_parallel pipeline_stage use_seq_parallel enable_parallel_optimizer"
        " micro_batch_interleave_num bos_token_id eos_token_id pad_token_id lr_warmup_fraction"
    ).split()
    assert [name for name in guide if not any(key == name or key.endswith("." + name) for key in names)] == []
    assert (rules_dir() / "checklist").is_dir()
