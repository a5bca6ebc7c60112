"""Pairs of configurations of one training, as people have them: written for the tests, after the manner of public ones.

Both sides of a pair mean the same; what differs are names, forms, paths, how the work is cut and how it is fused.
"""

from __future__ import annotations

from pathlib import Path

MEGATRON = """\
#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS=8
NNODES=${NNODES:-1}
DATA=$1
LR=1.5e-4
ARGS=(
    --nproc_per_node $GPUS
    --nnodes $NNODES
)
MODEL=(
    --use-mcore-models
    --num-layers 24
    --hidden-size 2048
    --ffn-hidden-size 5632
    --num-attention-heads 16
    --group-query-attention
    --num-query-groups 4
    --seq-length 4096
    --max-position-embeddings 4096
    --position-embedding-type rope   # no table
    --rotary-base 500000
    --normalization RMSNorm
    --norm-epsilon 1e-6
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --init-method-std 0.01
)
TRAIN=(
    --micro-batch-size 2
    --global-batch-size 64
    --lr $LR --min-lr 1.0e-5 --lr-decay-style cosine --lr-warmup-iters 100
    --train-iters 5000
    --weight-decay 0.1
    --clip-grad 1.0
    --adam-beta1 0.9
    --adam-beta2 0.95
    --bf16
    --seed 42
)
if [ "${USE_MOE:-0}" == "1" ]; then
    MODEL+=(--num-experts 8)
fi
torchrun ${ARGS[@]} pretrain_gpt.py ${MODEL[@]} ${TRAIN[@]} \\
    --data-path $DATA --split 99,1,0 --load ckpt/start --save ckpt/gpu \\
    --tensor-model-parallel-size 1 --use-distributed-optimizer | tee gpu.log
"""

MINDSPEED = """\
#!/bin/bash
export HCCL_CONNECT_TIMEOUT=3600
export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
NPUS_PER_NODE=8
TP=2
PP=2
DISTRIBUTED_ARGS="
    --nproc_per_node $NPUS_PER_NODE \\
    --nnodes 1 \\
"
OPTIMIZE_ARGS="
    --use-flash-attn \\
    --use-fused-rmsnorm \\
    --use-fused-swiglu \\
    --no-masked-softmax-fusion \\
    --use-distributed-optimizer \\
"
GPT_ARGS="
    --tensor-model-parallel-size ${TP} \\
    --pipeline-model-parallel-size ${PP} \\
    --sequence-parallel \\
    --use-mcore-models \\
    --num-layers 24 \\
    --hidden-size 2048 \\
    --ffn-hidden-size 5632 \\
    --num-attention-heads 16 \\
    --group-query-attention \\
    --num-query-groups 4 \\
    --seq-length 4096 \\
    --max-position-embeddings 4096 \\
    --position-embedding-type rope \\
    --rotary-base 500000 \\
    --normalization RMSNorm \\
    --norm-epsilon 0.000001 \\
    --swiglu \\
    --disable-bias-linear \\
    --untie-embeddings-and-output-weights \\
    --attention-dropout 0.0 \\
    --hidden-dropout 0.0 \\
    --init-method-std 0.01 \\
    --micro-batch-size 1 \\
    --global-batch-size 64 \\
    --lr 0.00015 \\
    --min-lr 1e-5 \\
    --lr-decay-style cosine \\
    --lr-warmup-fraction 0.02 \\
    --train-iters 5000 \\
    --weight-decay 1e-1 \\
    --clip-grad 1.0 \\
    --adam-beta1 0.9 \\
    --adam-beta2 0.95 \\
    --seed 42 \\
    --bf16 \\
    --split 99,1,0 \\
"
torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS $OPTIMIZE_ARGS \\
    --data-path /data/npu/corpus --load /weights/mcore --save out --distributed-backend nccl
"""

CONFIG = """\
{
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "attention_bias": false,
  "bos_token_id": 1,
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 2048,
  "initializer_range": 0.01,
  "intermediate_size": 5632,
  "max_position_embeddings": 4096,
  "num_attention_heads": 16,
  "num_hidden_layers": 24,
  "num_key_value_heads": 4,
  "rms_norm_eps": 1e-06,
  "rope_theta": 500000.0,
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16",
  "vocab_size": 32000
}
"""

MINDFORMERS = """\
seed: 42
output_dir: './output'
load_checkpoint: '/weights/start'
runner_config:
  epochs: 1
  batch_size: 2
  sink_mode: True
  gradient_accumulation_steps: 4
optimizer:
  type: AdamW
  betas: [0.9, 0.95]
  eps: 1.e-8
  weight_decay: 0.1
lr_schedule:
  type: CosineWithWarmUpLR
  learning_rate: 1.5e-4
  lr_end: 1.e-5
  warmup_steps: 100
  total_steps: 5000
train_dataset: &train_dataset
  data_loader:
    type: BlendedMegatronDatasetDataLoader
    shuffle: False
train_dataset_task:
  dataset_config: *train_dataset
parallel:
  enable_parallel_optimizer: True
parallel_config:
  data_parallel: 8
  model_parallel: 1
  pipeline_stage: 1
  micro_batch_num: 1
runner_wrapper:
  type: MFTrainOneStepCell
  scale_sense: 1.0
  use_clip_grad: True
model:
  model_config:
    type: LlamaConfig
    seq_length: 4096
    hidden_size: 2048
    num_layers: 24
    num_heads: 16
    n_kv_heads: 4
    intermediate_size: 5632
    theta: 500000
    vocab_size: 32000
    rms_norm_eps: 1.0e-6
    bos_token_id: 1
    eos_token_id: 2
    compute_dtype: "bfloat16"
    layernorm_compute_type: "float32"
    param_init_type: "float32"
    use_flash_attention: True
"""

FACTORY_GPU = """\
### model
model_name_or_path: Qwen/Qwen3-8B
### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 16
lora_alpha: 32
deepspeed: ds/zero3.json
### dataset
dataset: identity,alpaca_en_demo
template: qwen3
cutoff_len: 2048
max_samples: 1000
preprocessing_num_workers: 16
### output
output_dir: saves/gpu
logging_steps: 10
save_steps: 500
### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
max_grad_norm: 1.0
weight_decay: 0.1
adam_beta2: 0.95
bf16: true
"""
ZERO3 = """\
{
  "train_batch_size": "auto",
  "gradient_clipping": "auto",
  "zero_allow_untested_optimizer": true,
  "fp16": {"enabled": "auto", "loss_scale": 0},
  "bf16": {"enabled": "auto"},
  "zero_optimization": {"stage": 3, "overlap_comm": false}
}
"""
FACTORY_NPU = """\
# accelerate launch --config_file fsdp2.yaml src/train.py npu.yaml
model_name_or_path: /models/Qwen3-8B
flash_attn: fa2
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 16
lora_alpha: 32
dataset: alpaca_en_demo, identity
template: qwen3
cutoff_len: 2048
max_samples: 1000
output_dir: saves/npu
logging_steps: 1
save_steps: 100
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1e-4
num_train_epochs: 3
lr_scheduler_type: cosine
warmup_ratio: 0.1
weight_decay: 0.1
adam_beta2: 0.95
bf16: true
"""

TRAINER = """\
export NPROC=8
deepspeed --num_gpus $NPROC finetune.py \\
    --model_name_or_path meta-llama/Llama-2-7b-hf \\
    --per_device_train_batch_size 4 --gradient_accumulation_steps 2 \\
    --learning_rate 2e-5 --weight_decay 0. --warmup_ratio 0.03 \\
    --lr_scheduler_type "cosine" --num_train_epochs 3 --max_grad_norm 1.0 --adam_beta2 0.95 \\
    --bf16 True --seed 7 --save_steps 100 --logging_steps 1 --report_to none --gradient_checkpointing True
"""
PRINTED = """\
2024-05-01 10:00:00 - INFO - start
[INFO|training] Training/evaluation parameters TrainingArguments(
_n_gpu=1,
adam_beta1=0.9,
adam_beta2=0.95,
adam_epsilon=1e-08,
bf16=True,
fp16=False,
data_seed=None,
gradient_accumulation_steps=2,
learning_rate=2e-05,
logging_dir=out/runs/May01_10-00-00_host(1),
logging_steps=1.0,
lr_scheduler_type=SchedulerType.COSINE,
max_grad_norm=1.0,
max_steps=-1,
num_train_epochs=3.0,
optim=OptimizerNames.ADAMW_TORCH,
per_device_train_batch_size=4,
report_to=[],
save_steps=100,
seed=7,
warmup_ratio=0.03,
warmup_steps=0,
weight_decay=0.0,
)
Model config LlamaConfig {
  "hidden_size": 4096,
  "num_hidden_layers": 32
}

{'loss': 1.5, 'learning_rate': 1e-06, 'epoch': 0.01}
"""

DUMP = """\
using world size: 8, data-parallel size: 8
------------------------ arguments ------------------------
  adam_beta1 ...................................... 0.9
  adam_beta2 ...................................... 0.95
  adam_eps ........................................ 1e-08
  add_bias_linear ................................. False
  attention_dropout ............................... 0.0
  bf16 ............................................ True
  clip_grad ....................................... 1.0
  data_parallel_size .............................. 8
  ffn_hidden_size ................................. 5632
  fp16 ............................................ False
  global_batch_size ............................... 64
  group_query_attention ........................... True
  hidden_dropout .................................. 0.0
  hidden_size ..................................... 2048
  init_method_std ................................. 0.01
  kv_channels ..................................... 128
  load ............................................ ckpt/start
  lr .............................................. 0.00015
  lr_decay_iters .................................. None
  lr_decay_style .................................. cosine
  lr_warmup_fraction .............................. None
  lr_warmup_iters ................................. 100
  max_position_embeddings ......................... 4096
  micro_batch_size ................................ 2
  min_lr .......................................... 1e-05
  norm_epsilon .................................... 1e-06
  normalization ................................... RMSNorm
  num_attention_heads ............................. 16
  num_layers ...................................... 24
  num_query_groups ................................ 4
  params_dtype .................................... torch.bfloat16
  position_embedding_type ......................... rope
  rotary_base ..................................... 500000
  seed ............................................ 42
  seq_length ...................................... 4096
  split ........................................... 99,1,0
  swiglu .......................................... True
  tensor_model_parallel_size ...................... 1
  train_iters ..................................... 5000
  untie_embeddings_and_output_weights ............. True
  weight_decay .................................... 0.1
-------------------- end of arguments ---------------------
 iteration        1/    5000 | lm loss: 1.09E+01 | grad norm: 3.4 |
"""

TOKENS = """\
{
  "added_tokens_decoder": {
    "0": {"content": "<unk>", "special": true, "lstrip": false},
    "1": {"content": "<s>", "special": true, "lstrip": false},
    "2": {"content": "</s>", "special": true, "lstrip": false}
  },
  "add_bos_token": true,
  "add_eos_token": false,
  "bos_token": "<s>",
  "eos_token": {"content": "</s>", "lstrip": false},
  "pad_token": "<unk>",
  "padding_side": "right",
  "chat_template": "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}",
  "model_max_length": 4096,
  "tokenizer_class": "LlamaTokenizer"
}
"""

# of each pair: the files of both sides, and what is given for each
PAIRS: dict[str, tuple[dict[str, str], str, str]] = {
    "megatron and mindspeed": ({"gpu.sh": MEGATRON, "npu.sh": MINDSPEED}, "gpu.sh", "npu.sh"),
    "script and config.json": ({"npu.sh": MINDSPEED, "hf/config.json": CONFIG}, "hf", "npu.sh"),
    "script and mindformers": ({"gpu.sh": MEGATRON, "run.yaml": MINDFORMERS}, "gpu.sh", "run.yaml"),
    "llama-factory": (
        {"gpu.yaml": FACTORY_GPU, "ds/zero3.json": ZERO3, "npu.yaml": FACTORY_NPU},
        "gpu.yaml",
        "npu.yaml",
    ),
    "script and printed arguments": ({"run.sh": TRAINER, "npu.log": PRINTED}, "run.sh", "npu.log"),
    "script and megatron's log": ({"gpu.log": DUMP, "npu.sh": MINDSPEED}, "gpu.log", "npu.sh"),
    "tokenisers": (
        {"a/config.json": CONFIG, "a/tokenizer_config.json": TOKENS, "b/config.json": CONFIG, "b/tokenizer_config.json": TOKENS},
        "a",
        "b",
    ),
}  # fmt: skip


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder
