export HCCL_RDMA_TC=133  # expect: advice rdma-class-refused
export HCCL_RDMA_SL=9  # expect: advice rdma-class-refused
torchrun --nnodes 2 --nproc_per_node 8 train.py
