torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --train-iters 5000 \
    --lr 1.0e-4 --min-lr 1.0e-5 --lr-decay-style cosine --lr-warmup-fraction 0.01 \
    --adam-beta1 0.9 --adam-beta2 0.95 --adam-eps 1e-8
