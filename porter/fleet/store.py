"""Where results lie: a folder of this machine, or whatever fsspec knows (s3://bucket/fleet).

A result is whole once it has its row, and its row has the key that it was made for: in a folder it appears with one
rename; elsewhere the row is written last, and is the first that goes.
"""

from __future__ import annotations

from typing import Protocol

from porter.files.documents import Json


class Store(Protocol):
    def begin(self) -> None:
        """Of the command, and of no task. Raises UserError where it holds what is somebody's, FilesError where another
        command is at work there."""

    def end(self) -> None: ...
    def row(self, shelf: str, name: str) -> Json | None: ...
    def put(self, shelf: str, name: str, folder: str) -> None:
        """The files of `folder` become the result `name`."""

    def read(self, shelf: str, name: str, file: str) -> bytes:
        """A file of a result. Raises OSError."""

    def write(self, file: str, text: str) -> None: ...


def opened(place: str) -> Store:
    if "://" not in place:
        from porter.fleet.folder import Folder

        return Folder(place)
    from porter.fleet.remote import Remote

    return Remote(place)
