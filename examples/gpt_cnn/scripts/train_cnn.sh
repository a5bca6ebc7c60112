#!/usr/bin/env bash
# Usage: scripts/train_cnn.sh DATA_DIR [options of cnn.train]
set -euo pipefail
cd "$(dirname "$0")/.."

data=$1
shift
nvidia-smi --query-gpu=index,name,memory.total --format=csv
CUDA_VISIBLE_DEVICES=0 python -m cnn.train --config configs/cnn_cifar10.yaml --data "$data" --device cuda "$@"
