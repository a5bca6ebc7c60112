export NCCL_DEBUG=WARN
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py \
    --num-layers 80 --hidden-size 8192 --num-attention-heads 64 \
    --seq-length 8192 --micro-batch-size 2 --global-batch-size 512 \
    --train-iters 100000 --lr 1.5e-4 --bf16 \
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4  # expect: advice communication-buffers # says: HCCL_BUFFSIZE=256
