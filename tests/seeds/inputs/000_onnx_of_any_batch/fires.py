import torch


def export(net):
    x = torch.zeros((1, 3, 32, 32)).cuda()
    mask = torch.ones(1, 16)
    torch.onnx.export(  # expect: advice export-in-the-same-mode # says: --input_shape="x:-1,3,32,32;mask:-1,16" --dynamic_batch_size="1,2,4,8"
        net,
        (x, mask),
        "net.onnx",
        input_names=["x", "mask"],
        output_names=["y"],
        dynamic_axes={"x": {0: "batch"}, "mask": [0]},
    )
