from mmengine.runner import Runner

test_pipeline = [
    dict(type="LoadImageFromFile"),
    dict(type="Resize", scale=(1333, 800), keep_ratio=True),
    dict(type="PackDetInputs"),
]


def main(cfg):
    runner = Runner.from_cfg(cfg)
    runner.train()
    runner.loss.backward()
