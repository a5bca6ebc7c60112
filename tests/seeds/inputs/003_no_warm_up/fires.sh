torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --lr 1.0e-4 --lr-decay-style cosine --clip-grad 1.0 --bf16 --adam-beta2 0.95 \
    --train-iters 5000  # expect: advice warmup-missing
