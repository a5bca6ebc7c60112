import torch
import torchvision.transforms.functional as TF
from torch.utils.data import Dataset


class Pairs(Dataset):
    def __init__(self, images, masks):
        self.images, self.masks = images, masks

    def __getitem__(self, i):
        image = TF.to_tensor(self.images[i])
        image = TF.normalize(image, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])  # expect: advice augmentation
        return image, self.masks[i]


def train(net, loader, opt):
    for x, y in loader:
        torch.nn.functional.mse_loss(net(x.cuda()), y.cuda()).backward()
        opt.step()
