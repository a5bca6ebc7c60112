import torch


def export(model, x):
    program = torch.onnx.dynamo_export(model.cuda(), x.cuda())  # expect: PRT903
    program.save("model.onnx")
