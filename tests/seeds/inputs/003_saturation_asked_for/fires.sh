export INF_NAN_MODE_ENABLE=0  # expect: advice overflow-mode-refused
python train.py
