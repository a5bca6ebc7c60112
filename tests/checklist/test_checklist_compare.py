"""Two sides, item by item: names, forms, defaults, what follows from what, what weighs less, and what is no culprit."""

from __future__ import annotations

import pytest
from checklist_world import CONFIG, FACTORY_GPU, PAIRS, TOKENS, written

from porter.checklist.judge import Comparison, compare
from porter.checklist.read import read_side
from porter.checklist.side import side


@pytest.fixture
def compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(one: str, other: str, **files: str) -> Comparison:
        written(tmp_path, {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()})
        return compare(side(one, read_side(one)), side(other, read_side(other)))

    return run


def two(compared, one: str, other: str, suffix: str = "sh") -> Comparison:
    return compared(f"a.{suffix}", f"b.{suffix}", **{f"a_dot_{suffix}": one, f"b_dot_{suffix}": other})


def rows(made: Comparison) -> dict[str, tuple[str, int]]:
    return {row.item: (row.state, row.score) for row in made.rows}


def megatron(*options: str) -> str:
    return "torchrun pretrain.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 " + " ".join(options) + "\n"


@pytest.mark.parametrize("name", PAIRS)
def test_of_pairs_that_mean_the_same_nothing_matters(compared, tmp_path, name):
    files, one, other = PAIRS[name]
    written(tmp_path, files)
    made = compared(one, other)
    assert made.culprits == []
    assert all(source.dialects for half in made.sides for source in half.sources)
    assert sum(row.state in ("equal", "renamed") for row in made.rows) >= 11


# pair, file, what stands there, what is planted, the item that says so
PLANTS = [
    ("megatron and mindspeed", "npu.sh", "--norm-epsilon 0.000001", "--norm-epsilon 1e-5", "norm-eps"),
    ("megatron and mindspeed", "npu.sh", "--lr 0.00015", "--lr 1.5e-5", "learning-rate"),
    ("megatron and mindspeed", "npu.sh", "    --swiglu \\\n", "", "activation"),
    ("megatron and mindspeed", "npu.sh", "--lr-warmup-fraction 0.02", "--lr-warmup-iters 10", "warmup-steps"),
    ("megatron and mindspeed", "npu.sh", "    --hidden-dropout 0.0 \\\n", "", "hidden-dropout"),
    ("megatron and mindspeed", "npu.sh", "    --untie-embeddings-and-output-weights \\\n", "", "tied"),
    ("megatron and mindspeed", "npu.sh", "--global-batch-size 64", "--global-batch-size 32", "global-batch"),
    ("megatron and mindspeed", "npu.sh", "--load /weights/mcore", "", "initial-weights"),
    ("script and config.json", "hf/config.json", '"num_key_value_heads": 4,', "", "kv-heads"),
    ("script and config.json", "hf/config.json", '"rope_theta": 500000.0,', '"rope_theta": 10000,', "rope-theta"),
    ("script and config.json", "hf/config.json", '"tie_word_embeddings": false', '"tie_word_embeddings": true', "tied"),
    ("script and config.json", "hf/config.json", '"torch_dtype": "bfloat16"', '"torch_dtype": "float16"', "dtype"),
    ("script and mindformers", "run.yaml", "betas: [0.9, 0.95]", "betas: [0.9, 0.999]", "beta2"),
    ("script and mindformers", "run.yaml", "gradient_accumulation_steps: 4", "gradient_accumulation_steps: 2", "global-batch"),
    ("script and mindformers", "run.yaml", "weight_decay: 0.1", "momentum: 0.9", "weight-decay"),
    ("script and mindformers", "run.yaml", "  use_clip_grad: True\n", "", "clip"),
    ("script and mindformers", "run.yaml", "load_checkpoint: '/weights/start'", "load_checkpoint: ''", "initial-weights"),
    ("llama-factory", "npu.yaml", "template: qwen3", "template: qwen3_nothink", "template"),
    ("llama-factory", "npu.yaml", "gradient_accumulation_steps: 4", "gradient_accumulation_steps: 8", "card-batch"),
    ("llama-factory", "npu.yaml", "weight_decay: 0.1\n", "", "weight-decay"),
    ("llama-factory", "npu.yaml", "cutoff_len: 2048\n", "cutoff_len: 4096\n", "sequence-length"),
    ("llama-factory", "npu.yaml", "lora_rank: 16\n", "", "lora-rank"),
    ("script and printed arguments", "npu.log", "adam_beta2=0.95", "adam_beta2=0.999", "beta2"),
    ("script and printed arguments", "npu.log", "SchedulerType.COSINE", "SchedulerType.LINEAR", "schedule"),
    ("script and printed arguments", "npu.log", "bf16=True,\nfp16=False", "bf16=False,\nfp16=True", "dtype"),
    ("script and megatron's log", "gpu.log", "add_bias_linear ................................. False", "add_bias_linear ..... True", "bias"),
    ("script and megatron's log", "gpu.log", "num_query_groups ................................ 4", "num_query_groups .... 1", "kv-heads"),
    ("tokenisers", "b/tokenizer_config.json", '"add_bos_token": true', '"add_bos_token": false', "add-bos"),
    ("tokenisers", "b/tokenizer_config.json", "[{{ m.role }}] {{", "<{{ m.role }}> {{", "chat-template"),
    ("tokenisers", "b/tokenizer_config.json", '"2": {"content"', '"32000": {"content"', "added-tokens"),
    ("tokenisers", "b/config.json", '"eos_token_id": 2', '"eos_token_id": 0', "eos-id"),
    ("tokenisers", "b/tokenizer_config.json", '"padding_side": "right"', '"padding_side": "left"', "padding-side"),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "file", "old", "new", "item"), PLANTS)
def test_a_planted_difference_stands_first(compared, tmp_path, pair, file, old, new, item):
    files, one, other = PAIRS[pair]
    assert files[file].count(old) == 1
    written(tmp_path, {**files, file: files[file].replace(old, new)})
    made = compared(one, other)
    assert item in [row.item for row in made.culprits[:2]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("--lr 1e-5", "--lr 0.00001"), ("--bf16", "--params-dtype torch.bfloat16"), ("--disable-bias-linear", "--add-bias-linear False"), ("--swiglu", "--hidden-act SiLU"),
        ("--clip-grad 1.0", ""), ("--adam-beta2 .999", ""), ("--norm-epsilon 1e-05", ""), ("--seed 1234", ""), ("--split 99,1,0", "--split 0.99,0.01,0"),
        ("--lr-decay-style cosine", "--lr-scheduler-type SchedulerType.COSINE"), ("--num-query-groups 4", "--num-key-value-heads 4"), ("--kv-channels 16", ""),
        ("--optimizer adam", "--optim adamw_torch"), ("--train-samples 640 --global-batch-size 64", "--train-iters 10 --global-batch-size 64"),
        ("--lr-warmup-fraction 0.1 --train-iters 100", "--lr-warmup-iters 10 --train-iters 100"), ("--use-flash-attn", "--attn-implementation flash_attention_2"),
    ],
)  # fmt: skip
def test_names_and_forms_of_one_value(compared, one, other):
    made = two(compared, megatron(one), megatron(other))
    assert made.culprits == []
    assert not [row for row in made.rows if row.state == "different"]


def test_a_default_is_told_as_such(compared):
    (row,) = two(compared, megatron("--weight-decay 0.1"), megatron()).culprits
    assert (row.item, row.other.how, row.other.of, row.other.shown) == ("weight-decay", "default", "megatron", "0.01")


def test_no_default_is_told_of_a_fragment(compared):
    made = two(
        compared, megatron("--weight-decay 0.1"), 'ARGS="--num-layers 2 --hidden-size 64 --num-attention-heads 4"\n'
    )
    assert made.culprits == [] and rows(made)["weight-decay"][0] == "silent"
    assert [key for key, _ in made.sides[1].notes] == ["fragment"]


def test_no_default_of_a_trainer_is_told_of_a_program_that_is_none(compared):
    made = two(
        compared,
        "swift sft --tuner_type lora --model_author x --learning_rate 5e-5\n",
        "swift sft --tuner_type lora --model_author x\n",
    )
    assert rows(made)["learning-rate"] == ("missing", 48)


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("--micro-batch-size 1 --global-batch-size 8", "--micro-batch-size 2 --global-batch-size 8", {"micro-batch": 15}),
        ("--micro-batch-size 1 --global-batch-size 8", "--micro-batch-size 2 --global-batch-size 16", {"micro-batch": 30, "global-batch": 94}),
        ("--nproc_per_node 8 --micro-batch-size 2 --gradient-accumulation-steps 2", "--nproc_per_node 4 --micro-batch-size 2 --global-batch-size 32",
         {"accumulation": 15}),
        ("--bf16 --initial-loss-scale 4096", "--bf16", {"initial-loss-scale": 5}),
        ("--fp16 --initial-loss-scale 4096", "--fp16", {"initial-loss-scale": 54}),
        ("--tensor-model-parallel-size 8", "", {"tensor-parallel": 30}),
        ("--moe-aux-loss-coeff 0.1", "", {}),  # without experts
        ("--num-experts 8 --moe-aux-loss-coeff 0.1", "--num-experts 8", {"aux-loss": 76}),
    ],
)  # fmt: skip
def test_what_weighs_less(compared, one, other, told):
    found = {
        item: score
        for item, (state, score) in rows(two(compared, megatron(one), megatron(other))).items()
        if state == "different"
    }
    assert {item: score for item, score in found.items() if item not in ("cards-per-node", "data-parallel")} == told


def test_the_global_batch_follows_from_its_parts(compared):
    one = "deepspeed --num_gpus 8 t.py --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --save_steps 1 --logging_steps 1\n"
    made = two(compared, one, one.replace("--num_gpus 8", "--num_gpus 4"))
    row = made.rows[0]
    assert (row.item, row.one.shown, row.other.shown, row.one.how) == ("global-batch", "64", "32", "derived")


def test_steps_of_one_side_and_epochs_of_the_other_are_to_be_looked_at(compared):
    made = two(compared, FACTORY_GPU.replace("num_train_epochs: 3.0", "max_steps: 100"), FACTORY_GPU, "yaml")
    assert (rows(made)["train-steps"][0], rows(made)["epochs"][0]) == ("unknown", "unknown")


def test_what_a_variable_holds_that_nobody_sets_is_not_judged(compared):
    made = two(compared, megatron("--lr $LR"), megatron("--lr 1e-4"))
    assert rows(made)["learning-rate"] == ("unknown", 0) and made.culprits == []


def test_paths_names_and_logging_are_no_culprits(compared):
    made = two(
        compared,
        megatron("--save a --log-interval 1 --data-path x"),
        megatron("--save b --log-interval 9 --data-path y --wandb-project z"),
    )
    assert made.culprits == [] and made.others == [] and made.aside == 3
    assert rows(made)["data-files"][0] == "path"


def test_keys_that_nobody_knows_stand_by_themselves(compared):
    made = two(compared, megatron("--frobnicate 3 --same 1e-3"), megatron("--same 0.001"))
    assert [(key, one.value if one else None, other) for key, one, other in made.others] == [("frobnicate", "3", None)]


def test_two_models_of_a_hub_are_two_models(compared):
    for other, state in (("Qwen/Qwen3-4B", "different"), ("/models/Qwen3-8B", "path"), ("Qwen/Qwen3-8B", "equal")):
        made = two(compared, FACTORY_GPU, FACTORY_GPU.replace("Qwen/Qwen3-8B", other), "yaml")
        assert rows(made)["base-model"][0] == state


def test_what_a_run_printed_counts_more_than_what_it_was_started_with(compared):
    log = "------ arguments ------\n" + "".join(
        f"  {key} ....... {value}\n"
        for key, value in (("num_layers", 4), ("hidden_size", 64), ("lr", 1), ("clip_grad", 1), ("seed", 1))
    )
    made = compared("a.sh,a.log", "a.log", a_dot_sh=megatron("--seed 1"), a_dot_log=log)
    fact = made.sides[0].facts["layers"]
    assert (fact.value, [key for key, _ in made.sides[0].notes]) == ("4", ["twice"])


def test_what_a_log_prints_last_counts(compared):
    block = "".join(f"  {name} ................ {value}\n" for name, value in zip("seed a b c d".split(), "2bcde"))
    for log, seed in ((f"Namespace(seed=1)\n{block}", "2"), (f"{block}Namespace(seed=1)\n", "1")):
        assert compared("a.log", "a.log", a_dot_log=log).sides[0].facts["seed"].value == seed


def test_what_a_log_prints_of_a_model(compared):
    log = '  x: Model config LlamaConfig {\n    "hidden_size": 4096,\n    "rope_scaling": {\n      "factor": 8.0\n    },\n    "num_hidden_layers": 2\n  }\n'
    log += 'Generate config GenerationConfig {\n  "hidden_size": 7\n}\nargs: Namespace(lr=1e-4, betas=(0.9, 0.95), device=device(type="npu", index=0), name="a, b=c", seed=3)\n'
    half = compared("a.log", "a.log", a_dot_log=log).sides[0]
    assert {item: fact.value for item, fact in half.facts.items() if fact.how == "said"} == {
        "hidden-size": "4096", "rope-factor": "8", "layers": "2", "learning-rate": "0.0001", "beta1": "0.9", "beta2": "0.95", "seed": "3",
    }  # fmt: skip
    assert half.facts["seed"].setting.line == 11 and half.others["name"].value == "a, b=c"


def test_the_id_of_a_token_follows_from_the_table(compared):
    plain = CONFIG.replace('  "eos_token_id": 2,\n', "").replace('  "bos_token_id": 1,\n', "")
    made = compared(
        "a",
        "b",
        a__config_dot_json=plain,
        a__tokenizer_config_dot_json=TOKENS,
        b__config_dot_json=CONFIG,
        b__tokenizer_config_dot_json=TOKENS,
    )
    assert rows(made)["eos-id"] == ("equal", 0) and made.sides[0].facts["eos-id"].how == "derived"


def test_a_table_of_tokens_of_its_own(compared):
    made = compared(
        "a",
        "b",
        a__added_tokens_dot_json='{"<|im_start|>": 151644, "<|im_end|>": 151645}',
        b__added_tokens_dot_json='{"<|im_start|>": 151644, "<|im_end|>": 7}',
    )
    assert [row.item for row in made.culprits] == ["added-tokens"]


def test_yaml_of_sections_and_the_options_of_its_script(compared, tmp_path):
    text = "model:\n  x: 1\ndata:\n  template: qwen3\n  cutoff_len: 4096\nparallel:\n  fsdp_size: 8\ntraining:\n  stage: sft\n  lr: 1e-5\n  optimizer: adamw\n"
    run = (
        "torchrun --nproc_per_node 8 train.py conf/a.yaml --training.lr 2e-5 --training.per_device_train_batch_size 1\n"
    )
    made = compared("a.sh", "conf/a.yaml", a_dot_sh=run, conf__a_dot_yaml=text)
    assert [source.dialects for source in made.sides[0].sources] == [(), ("fsdp",)]
    assert (rows(made)["learning-rate"], rows(made)["template"]) == (("different", 97), ("equal", 0))
    assert "finetuning" not in rows(made)


def test_parts_of_a_model_of_pictures_are_not_taken_for_the_text(compared):
    text = '{"model_type": "vlm", "architectures": ["V"], "text_config": {"hidden_size": 64}, "vision_config": {"hidden_size": 9}}'
    made = two(compared, text, text.replace("9}", "8}"), "json")
    assert made.sides[0].facts["hidden-size"].value == "64"
    assert [key for key, _, _ in made.others] == ["vision_config.hidden_size"]


def test_a_guide_recommends(compared):
    made = two(compared, megatron("--adam-beta2 0.999"), megatron("--adam-beta2 0.98"))
    assert made.rows[0].recommended
