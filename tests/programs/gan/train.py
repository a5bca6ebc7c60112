"""A small DCGAN: generator, discriminator, one optimiser each, labels real and fake."""

import argparse
import random

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--nz", type=int, default=8)
parser.add_argument("--ngf", type=int, default=8)
parser.add_argument("--niter", type=int, default=3)
parser.add_argument("--cuda", action="store_true", default=True, help="enables cuda")
parser.add_argument("--ngpu", type=int, default=1)
parser.add_argument("--outf", default="gan.pt")
opt = parser.parse_args()

manualSeed = 999
random.seed(manualSeed)
torch.manual_seed(manualSeed)
if opt.cuda:
    torch.cuda.manual_seed_all(manualSeed)
cudnn.benchmark = True
cudnn.deterministic = True


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


netG = nn.Sequential(
    nn.ConvTranspose2d(opt.nz, opt.ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(opt.ngf * 2), nn.ReLU(True),
    nn.ConvTranspose2d(opt.ngf * 2, opt.ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(opt.ngf), nn.ReLU(True),
    nn.ConvTranspose2d(opt.ngf, 1, 4, 2, 1, bias=False), nn.Tanh(),
)  # fmt: skip
netD = nn.Sequential(
    nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(8, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(16, 1, 4, 1, 0, bias=False),
)  # fmt: skip
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
real_batches = torch.rand(opt.niter * 2, 6, 1, 16, 16)
fixed_noise = torch.randn(4, opt.nz, 1, 1)
real_label, fake_label = 1.0, 0.0

if opt.cuda:
    netD.cuda()
    netG.cuda()
    criterion.cuda()
    fixed_noise = fixed_noise.cuda()

optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))

for i, real in enumerate(real_batches):
    netD.zero_grad()
    if opt.cuda:
        real = real.cuda()
    label = torch.full((real.size(0),), real_label, device=real.device)
    errD_real = criterion(netD(real).view(-1), label)
    errD_real.backward()
    noise = torch.randn(real.size(0), opt.nz, 1, 1, device="cuda" if opt.cuda else "cpu")
    fake = netG(noise)
    errD_fake = criterion(netD(fake.detach()).view(-1), label.fill_(fake_label))
    errD_fake.backward()
    optimizerD.step()

    netG.zero_grad()
    errG = criterion(netD(fake).view(-1), label.fill_(real_label))
    errG.backward()
    optimizerG.step()
    print(f"[{i}] Loss_D: {(errD_real + errD_fake).item():.4f} Loss_G: {errG.item():.4f}")

netG.eval()
with torch.no_grad():
    images = netG(fixed_noise).detach().cpu()
torch.save({"netG": netG.state_dict(), "netD": netD.state_dict(), "images": images}, opt.outf)
