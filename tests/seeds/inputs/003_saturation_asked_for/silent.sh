export INF_NAN_MODE_ENABLE=1
python train.py
