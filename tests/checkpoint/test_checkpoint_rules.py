"""rules/checkpoint: what the schema refuses, and that each rule changes something."""

from __future__ import annotations

import re

import pytest

from porter.checkpoint.rules import canonical, section, stanzas
from porter.checkpoint.schema import build
from porter.rulebook.errors import RuleError

BAD = {
    "no stanza that is known": ('[[colour]]\nname = "red"\n', r"x\.toml: unknown stanza 'colour'"),
    "a key that is unknown": ('[[aside]]\npattern = "a"\nof = "b"\n', r"\[\[aside\]\] 1: unknown key 'of'"),
    "a key that is missing": ('[[without]]\npattern = "a"\n', r"\[\[without\]\] 1: 'of' is missing"),
    "a pattern that is none": ('[[aside]]\npattern = "("\n', r"\[\[aside\]\] 1: '\('"),
    "a rename that is none": ('[[rename]]\nof = "x"\nnames = [["(", "b"]]\n', r"\[\[rename\]\] 1: '\('"),
    "no toml": ("[[", r"x\.toml: "),
}


@pytest.mark.parametrize(("text", "complaint"), BAD.values(), ids=BAD)
def test_what_the_schema_refuses(text, complaint):
    with pytest.raises(RuleError, match=complaint):
        build([("checkpoint/x.toml", text.encode())])


def test_a_name_is_brought_to_one_spelling_and_stays_there():
    names = ["decoder.layers.0.self_attention.linear_qkv.weight", "layers.0.self_attention.query_key_value.bias", "bn.gamma", "module.a.module.b",
             "language_model.encoder.layers.11.post_attention_layernorm.weight", "tok_embeddings.weight", "transformer.h.0.ln_1.weight"]  # fmt: skip
    for name in names:
        assert canonical(name) != name and canonical(canonical(name)) == canonical(name)
    for name in ("gamma_rays.weight", "modules.0.weight", "fc.beta_net.weight"):
        assert canonical(name) == name


def test_the_key_under_which_weights_stand():
    assert section(["state_dict.a", "state_dict.b", "optimizer.state.0.exp_avg"]) == "state_dict."
    assert section(["model.a", "head.b"]) == section([]) == section(["optimizer.state.0.exp_avg"]) == ""


def test_parts_are_named_by_what_the_pattern_of_the_whole_has():
    for row in stanzas()["joined"]:
        groups = re.compile(row["whole"]).groups
        assert all(int(n) <= groups for part in row["parts"] for n in re.findall(r"\\(\d)", part))
        assert len(set(row["parts"])) == len(row["parts"]) > 1
