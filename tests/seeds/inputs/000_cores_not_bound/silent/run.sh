#!/usr/bin/env bash
for RANK in 0 1 2 3 4 5 6 7; do
    export RANK WORLD_SIZE=8 LOCAL_RANK=$RANK MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
    taskset -c $((RANK * 24))-$((RANK * 24 + 23)) python train.py --local_rank $RANK &
done
wait
