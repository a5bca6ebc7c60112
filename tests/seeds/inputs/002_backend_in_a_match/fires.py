import torch.distributed as dist


def gather(tensor, group):
    match dist.get_backend(group):
        case "nccl":  # expect: PRT202
            tensor = tensor.cuda()
        case "gloo":
            tensor = tensor.cpu()
    out = [tensor.clone() for _ in range(dist.get_world_size(group))]
    dist.all_gather(out, tensor, group=group)
    return out
