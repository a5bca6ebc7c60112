torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --train-iters 5000 --bf16 \
    --tensor-model-parallel-size 8 --num-query-groups 8
