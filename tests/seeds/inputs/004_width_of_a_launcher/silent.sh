torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --lr 1e-4 --clip-grad 1.0 \
    --num-layers 24 --num-attention-heads 25 --train-iters 5000 --lr-warmup-iters 100 \
    --hidden-size 1600
