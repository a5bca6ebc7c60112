torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 40 --hidden-size 5120 --num-attention-heads 40 \
    --train-iters 500000 --adam-beta2 0.95 --clip-grad 1.0 \
    --lr 1.0e-3 --bf16  # expect: advice learning-rate-and-size
