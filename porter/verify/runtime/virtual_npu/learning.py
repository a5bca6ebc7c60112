"""In which state a program learns: how many of its networks it has put in `eval()`, where the device's random numbers
stand, and which device a rank has made its own. Where no layer asks for the mode, nothing draws on the device, and every
tensor names its place, no other number tells."""

import functools
import sys
import weakref
import zlib

import torch

from virtual_npu import native


class Learning:
    def __init__(self, root, place):
        self.root, self.place = root, place
        self.asked, self.where = {}, None  # by identity: a network may not be hashed
        for name, default in (("train", True), ("eval", False)):
            setattr(torch.nn.Module, name, self._told(getattr(torch.nn.Module, name), default))

    def tell(self, record):
        if self.where is not None:  # from the first time that the program asked
            tested = sum(not mode and network() is not None for network, mode in self.asked.values())
            record("value", "networks in eval()", float(tested).hex(), self.where)
        if torch.npu.is_initialized():
            number = torch.npu.current_device()
            state = torch.npu.default_generators[number].get_state()
            record("value", "random state of the device", float(zlib.crc32(bytes(state.tolist()))).hex())
            if _is_a_rank():
                record("value", "current device", float(number).hex())

    def _told(self, method, default):
        @functools.wraps(method)
        def call(module, *args, **kwargs):
            if self._is_asked(sys._getframe(1)):
                mode = bool([*args, *kwargs.values(), default][0])
                self.asked[id(module)], self.where = (weakref.ref(module), mode), self.place()
                native.event("train", str(mode))
            return method(module, *args, **kwargs)

        return call

    def _is_asked(self, frame):
        """By the program itself, if through a wrapper's own method: a library that asks goes ways of its own."""
        while self.root and frame and not frame.f_code.co_filename.startswith(self.root):
            if frame.f_code.co_name not in ("train", "eval"):
                return False
            frame = frame.f_back
        return bool(self.root and frame)


def _is_a_rank():
    group = torch.distributed
    return group.is_available() and group.is_initialized() and group.get_world_size() > 1
