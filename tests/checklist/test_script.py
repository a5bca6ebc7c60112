"""Launch scripts: branches, lists of options, here-documents, overrides; what counts of several commands."""

from __future__ import annotations

import pytest

from porter.checklist import options, script
from porter.checklist.expand import UNKNOWN


def settings(text: str) -> dict[str, str]:
    walked = script.read(text)
    return {".".join(s.path): s.value for s in options.settings_of(walked.words, walked.exported, text)}


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ('[ "$A" == "1" ]', True), ('[[ $A = 1 ]]', True), ('[[ "$A" != "1" ]]', False), ('[ -n "$A" ]', True), ('[ -z "$NONE" ]', True), ("[ $A -eq 1 ]", True), ("[[ $NONE -eq 0 ]]", True),
        ('[ ! -z "$NONE" ]', False), ('[[ "$A" == 1 && "$B" == x ]]', False), ('[ "$A" = 2 ] || [ "$A" = 1 ]', True), ("[ -z $1 ]", True), ('[ "$USE" ]', False),
    ],
)  # fmt: skip
def test_the_branch_that_is_taken(condition, taken):
    text = f"A=1\nif {condition}; then\n  LR=1\nelse\n  LR=2\nfi\npython t.py --lr $LR\n"
    assert settings(text)["lr"] == ("1" if taken else "2")
    assert script.read(text).doubtful == []


def test_a_condition_that_only_a_run_decides_is_told():
    walked = script.read("if [ -f x ]; then\n A=1\nfi\nif grep -q x y; then B=1; fi\npython t.py --lr $A$B\n")
    assert walked.doubtful == [1, 4]


def test_cases_loops_functions_and_guards():
    text = (
        "SIZE=${1:-7b}\ncase $SIZE in\n 7b|8b) H=4096 ;;\n *) H=1 ;;\nesac\nfor SEED in 3 4; do\n  [ -n '' ] && H=2\n"
        "  run() { python t.py --hidden-size $H --seed $SEED --lr 1; }\n  run\ndone\n"
    )
    assert settings(text) == {"hidden_size": "4096", "seed": "3", "lr": "1"}


def test_an_option_that_is_read_keeps_what_stood_there():
    text = 'LR=1e-4\nwhile [ $# -gt 0 ]; do\n case "$1" in\n  --lr) LR=$2; shift 2 ;;\n esac\ndone\npython t.py --lr $LR --x 1\n'
    assert settings(text)["lr"] == "1e-4"


def test_options_in_strings_lists_and_lines():
    text = (
        'A="\n   --num-layers 2 \\\n   --bf16 \\\n"\nB=(\n  --lr 1e-4   # remark\n  "--split 99,1,0"\n  # --wrong 1\n)\nB+=(--swiglu)\n'
        'torchrun --nproc_per_node=8 pretrain.py $A "${B[@]}" --betas 0.9 0.95 --min-lr=-1 --layer-freq -1 | tee --append log\n'
    )
    found = settings(text)
    assert found == {
        "nproc_per_node": "8", "num_layers": "2", "bf16": "true", "lr": "1e-4", "split": "99,1,0", "swiglu": "true",
        "betas": "[0.9, 0.95]", "min_lr": "-1", "layer_freq": "-1",
    }  # fmt: skip


def test_overrides_and_variables_of_one_command():
    text = "export X=1\nY=2 python -m trainer +a.lr=3 a.b.c='4' trainer.n=$Z --flag\n"
    walked = script.read(text)
    assert walked.main is not None and walked.main.environment == {"Y": "2"}
    found = settings(text)
    assert (found["a.lr"], found["a.b.c"], found["flag"], found["env.x"]) == ("3", "4", "true", "1")
    assert found["trainer.n"].startswith(UNKNOWN)


def test_the_command_with_the_most_options_counts():
    text = "mkdir --parents x --mode 7\npython tokenise.py --in a\npython train.py --lr 1 --wd 2 --x 3\npython eval.py --lr 9\n"
    assert settings(text) == {"lr": "1", "wd": "2", "x": "3"}


def test_of_a_script_that_starts_nothing_the_variables_count():
    assert settings('MODEL_ARGS=" --num-layers 2 --bf16 "\n') == {"num_layers": "2", "bf16": "true"}


def test_lines_are_those_where_an_option_stands():
    text = "# --lr 3\nA=(\n --lr 1\n)\npython t.py ${A[@]} --wd 2\n"
    walked = script.read(text)
    assert [(s.name, s.line) for s in options.settings_of(walked.words, {}, text)] == [("--lr", 3), ("--wd", 5)]


def test_json_that_a_script_writes():
    walked = script.read(
        'Z=2\ncat <<EOT > ds.json\n{"zero_optimization": {"stage": $Z}}\nEOT\ndeepspeed t.py --deepspeed ds.json\n'
    )
    assert walked.embedded == [('{"zero_optimization": {"stage": 2}}\n', 3)]


def test_what_is_to_be_filled_in_breaks_nothing():
    text = 'DATA=<Specify path and file prefix>_text\nN=8\nA=<path>\nARGS="--lr 1 --n $N"\npython t.py $ARGS --data $DATA\n'
    assert settings(text) == {"lr": "1", "n": "8", "data": "_Specify_path_and_file_prefix__text"}


def test_characters_of_any_script():
    assert settings("# 训练脚本\nNAME='模型'\npython t.py --name $NAME --lr 1\n")["name"] == "模型"
