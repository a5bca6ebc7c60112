export NCCL_DEBUG=WARN
torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 2048 --micro-batch-size 8 --global-batch-size 512 \
    --train-iters 100000 --lr 1.5e-4 --bf16
