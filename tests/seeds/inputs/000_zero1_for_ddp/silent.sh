torchrun --nproc_per_node 8 train_ddp.py \
    --hidden-size 5120 --num-layers 40 --train-iters 1000 \
    --use-distributed-optimizer --recompute-granularity full
