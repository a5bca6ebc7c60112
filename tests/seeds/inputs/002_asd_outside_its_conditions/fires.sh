export NPU_ASD_ENABLE=1  # expect: advice silent-error-detection-costs
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 12 --hidden-size 768 --train-iters 1000
