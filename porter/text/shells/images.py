"""Names of images that bring CUDA."""

from __future__ import annotations

from porter.regex import lazy
from porter.rulebook.table import any_of

_IMAGE = lazy(
    r"(?i)(?:nvcr\.io/|[\w./-]*\bnvidia/|pytorch/pytorch:|[\w./-]*(?:cuda|cudnn)[\w.-]*"
    r"|[\w./-]+:[\w.-]*(?:cu\d{2,3}\b|cuda|gpu))[^\s\"']*"
)
# the version of torch in a tag: `pytorch/pytorch:2.0.1-cuda11.7`, `modelscope:cuda11.7.1-py38-torch2.0.1`
_TORCH = lazy(r"(?i)(?:^|/)pytorch/pytorch:(\d+)\.(\d+)|:[\w.-]*\bp?y?torch-?(\d+)\.(\d+)")
_CLIENT = lazy(r"/tritonserver:[\w.-]*-sdk$")  # it asks a server elsewhere, and uses no device itself
_FOR_GPUS = lazy(rf"(?i)(?:{any_of('image-for-gpus-alone')})(?=[:@]|$)")
_BOARD = lazy(r"(?i)(?:^|[/:._-])(?:l4t|jetson|jetpack)(?![a-z])")


def brings_cuda(image: str) -> bool:
    return bool(_IMAGE.fullmatch(image)) and "ascend" not in image.lower() and not _CLIENT.search(image)


def is_for_gpus_alone(image: str) -> bool:
    """Whether nothing in this image can be ported: a server of models for GPUs, with the torch that it was built with."""
    return bool(_FOR_GPUS.match(image)) and not _CLIENT.search(image)


def is_for_boards(image: str) -> bool:
    """Whether an image is for NVIDIA's Jetson: boards without a slot for an NPU."""
    return _BOARD.search(image) is not None


def is_cuda_image(text: str) -> bool:
    """Whether a text that may be a path or a value as well is the name of one: with a folder, a tag, and no folder behind that."""
    image = text.strip("\"'")
    folder, _, tag = image.rpartition(":")
    return "/" in folder and "/" not in tag and image[0] not in "/.-" and brings_cuda(image)


def torch_in(image: str) -> tuple[int, int] | None:
    """The version of torch that the tag of an image names."""
    match = _TORCH.search(image)
    numbers = [number for number in match.groups() if number] if match else []
    return (int(numbers[0]), int(numbers[1])) if numbers else None
