torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --train-iters 5000 --bf16 \
    --expert-model-parallel-size 8 --moe-router-topk 2 --moe-grouped-gemm \
    --num-experts 8  # expect: advice moe-routing # says: --moe-router-dtype fp32
