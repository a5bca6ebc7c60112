"""Results at a place that fsspec knows: s3://bucket/fleet, file:///shared/fleet, memory://fleet."""

from __future__ import annotations

import os
from typing import Any

from porter.errors import UserError
from porter.files.documents import Json
from porter.fleet.layout import MARK, ROW, foreign, unwritable, whole


class Remote:
    def __init__(self, place: str):
        self.shown = place
        try:
            import fsspec
        except ImportError:
            raise UserError(
                f"--output {place}: needs fsspec: pip install 'npu-porter[fleet]'",
                f"--output {place}：需要 fsspec：pip install 'npu-porter[fleet]'",
            ) from None
        try:
            self._files: Any
            self._files, self._top = fsspec.core.url_to_fs(place.rstrip("/"))
        except (ImportError, ValueError, OSError) as error:  # a protocol without its package, or none
            raise UserError(f"--output {place}: {error}", f"--output {place}：{error}") from None

    def begin(self) -> None:
        try:
            names = self._files.ls(self._top, detail=False) if self._files.exists(self._top) else []
            if names and not self._files.exists(self._place(MARK)):
                raise foreign(self.shown)
        except OSError as error:
            raise unwritable(self.shown, error) from None
        self.write(MARK, "1\n")

    def end(self) -> None:
        pass

    def row(self, shelf: str, name: str) -> Json | None:
        try:
            return whole(self.read(shelf, name, ROW))
        except (FileNotFoundError, KeyError):
            return None

    def read(self, shelf: str, name: str, file: str) -> bytes:
        data: bytes = self._files.cat_file(self._place(shelf, name, file))
        return data

    def put(self, shelf: str, name: str, folder: str) -> None:
        place = self._place(shelf, name)
        self._files.makedirs(place, exist_ok=True)
        if self._files.exists(f"{place}/{ROW}"):
            self._files.rm(f"{place}/{ROW}")
        for file in sorted(os.listdir(folder), key=lambda file: (file == ROW, file)):  # the row is the last
            self._files.put_file(os.path.join(folder, file), f"{place}/{file}")

    def write(self, file: str, text: str) -> None:
        try:
            self._files.makedirs(self._top, exist_ok=True)
            self._files.pipe_file(self._place(file), text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise unwritable(self.shown, error) from None

    def _place(self, *parts: str) -> str:
        return "/".join((self._top, *parts))
