"""A file of the web, of a limited size."""

from __future__ import annotations

import base64
import os
import urllib.error
import urllib.request
from http.client import HTTPException
from urllib.parse import unquote, urlsplit, urlunsplit

from porter import __version__
from porter.errors import UserError

LARGEST = 4_000_000_000  # bytes
SECONDS = 60  # without a word from the server
_PIECE = 1 << 20


def download(url: str, folder: str, accept: str = "*/*", largest: int = LARGEST) -> str:
    """The file in `folder` that has what `url` answers. Raises UserError."""
    file = os.path.join(folder, os.path.basename(unquote(urlsplit(url).path)) or "file")
    size = 0
    try:
        with urllib.request.urlopen(_request(url, accept), timeout=SECONDS) as answer, open(file, "wb") as stream:
            while piece := answer.read(_PIECE):
                size += len(piece)
                if size > largest:
                    limit = f"{largest / 1e6:g} MB"
                    raise UserError(f"larger than {limit}", f"超过 {limit}")
                stream.write(piece)
    except urllib.error.HTTPError as error:
        raise UserError(
            f"the server answers {error.code} {error.reason}", f"服务器返回 {error.code} {error.reason}"
        ) from None
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "reason", None) or error
        raise UserError(f"cannot be downloaded: {why}", f"无法下载：{why}") from None
    return file


def _request(url: str, accept: str) -> urllib.request.Request:
    """A user and a password of the URL become a header, as a browser does it."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    headers = {"Accept": accept, "User-Agent": f"porter/{__version__}"}
    if at:
        headers["Authorization"] = "Basic " + base64.b64encode(unquote(user).encode()).decode()
    return urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers=headers)
