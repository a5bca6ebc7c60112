"""Finds programs whose batches grow with the count of devices, while another file asks for more than one GPU before it wraps the
model in DataParallel. That question stays: without it, one device trains. So does the count then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from porter.regex import rare

# `if torch.cuda.device_count() > 1:` with DataParallel on the next line, and nothing else to count
_WRAPS = rare(
    rb"if[ \t]+torch\.cuda\.device_count\(\)[ \t]*>[ \t]*1:[ \t]*\n[ \t]+[\w.]+[ \t]*=[ \t]*(?:\w+\.)*DataParallel\("
)
_GROWS = rare(rb"\*[ \t]*max\(1,[ \t]*(?:\w+\.)*n_gpu\)")  # a parameter of the file, or an option
_COUNTS = b"device_count"


def counted_batches(texts: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """(folder of the program, file that wraps the model): such a file counts the batch, too."""
    return tuple(sorted(_counted(texts)))


def _counted(texts: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    for path, data in texts.items():
        if _COUNTS in data and b"n_gpu" in data and _WRAPS.search(data) and _GROWS.search(data):
            folders = path.split("/")[:-1]
            yield from (("".join(f"{name}/" for name in folders[:depth]), path) for depth in range(len(folders)))
