source /usr/local/Ascend/ascend-toolkit/set_env.sh
export NPU_ASD_CONFIG=enable:true,with_checksum:true  # expect: advice silent-error-detection-float16
torchrun --nnodes 16 --nproc_per_node 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 \
    --num-attention-heads 64 --train-iters 1000 --fp16
