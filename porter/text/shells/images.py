"""Names of images that bring CUDA."""

from __future__ import annotations

from porter.regex import lazy

_IMAGE = lazy(
    r"(?i)(?:nvcr\.io/|[\w./-]*\bnvidia/|pytorch/pytorch:|[\w./-]*(?:cuda|cudnn)[\w.-]*"
    r"|[\w./-]+:[\w.-]*(?:cu\d{2,3}\b|cuda|gpu))[^\s\"']*"
)
_CLIENT = lazy(r"/tritonserver:[\w.-]*-sdk$")  # it asks a server elsewhere, and uses no device itself


def brings_cuda(image: str) -> bool:
    return bool(_IMAGE.fullmatch(image)) and "ascend" not in image.lower() and not _CLIENT.search(image)


def is_cuda_image(text: str) -> bool:
    """Whether a text that may be a path or a value as well is the name of one: with a folder, a tag, and no folder behind that."""
    image = text.strip("\"'")
    folder, _, tag = image.rpartition(":")
    return "/" in folder and "/" not in tag and image[0] not in "/.-" and brings_cuda(image)
