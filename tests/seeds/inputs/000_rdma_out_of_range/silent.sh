export HCCL_RDMA_TC=132
export HCCL_RDMA_SL=4
torchrun --nnodes 2 --nproc_per_node 8 train.py
