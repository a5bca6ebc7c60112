import soundfile as sf
import torch
import torchaudio
from torch.utils.data import Dataset


class Speech(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.mel = torchaudio.transforms.MelSpectrogram(16000, n_mels=80)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        path, text = self.rows[i]
        wave, rate = sf.read(path, dtype="float32")  # expect: advice preprocessing-time
        wave = torchaudio.functional.resample(torch.from_numpy(wave), rate, 16000)
        return self.mel(wave), text


def train(net, loader, opt):
    for feats, _ in loader:
        net(feats.cuda()).sum().backward()
        opt.step()
