#!/bin/bash
source /usr/local/Ascend/ascend-toolkit/set_env.sh
export OMP_NUM_THREADS=1
export CUDA_VISIBLE_DEVICES=0,1,2,3
torchrun --nproc_per_node 4 train.py --epochs 90 --lr 0.1 "$@"
