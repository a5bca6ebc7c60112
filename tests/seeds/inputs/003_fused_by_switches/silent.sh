torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --train-iters 5000 \
    --swiglu --normalization RMSNorm --position-embedding-type rope
