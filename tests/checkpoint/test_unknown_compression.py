"""An archive whose compression nobody here knows: one line says so."""

from __future__ import annotations

import io
import zipfile

import pytest

from porter.checkpoint.errors import reading
from porter.errors import UserError


def test_the_compression_is_named() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a", b"1")
    data = bytearray(made.getvalue())
    place = data.index(b"PK\x01\x02")
    data[10 - 2 : 10], data[place + 10 : place + 12] = (b"\x63\x00",) * 2  # method 99
    with pytest.raises(UserError, match="compression"), reading("a.pt"), zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.read("a")
