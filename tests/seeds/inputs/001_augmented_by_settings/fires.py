from mmengine.runner import Runner

img_norm_cfg = dict(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], to_rgb=True)
train_pipeline = [
    dict(type="LoadImageFromFile"),
    dict(type="Resize", scale=(1333, 800), keep_ratio=True),
    dict(type="RandomFlip", prob=0.5),  # expect: advice augmentation
    dict(type="Normalize", **img_norm_cfg),
    dict(type="PackDetInputs"),
]


def main(cfg):
    runner = Runner.from_cfg(cfg)
    runner.train()
    runner.loss.backward()
