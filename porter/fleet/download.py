"""A file of the web, of a limited size."""

from __future__ import annotations

import base64
import os
import urllib.error
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from porter import __version__
from porter.errors import UserError

LARGEST = 4_000_000_000  # bytes
SECONDS = 60  # without a word from the server
_PIECE = 1 << 20


def download(url: str, folder: str, accept: str = "*/*", largest: int = LARGEST) -> str:
    """The file in `folder` that has what `url` answers. Raises UserError."""
    file = os.path.join(folder, "download")
    size = 0
    try:
        opener = build_opener(_Redirected)
        with opener.open(_request(url, accept), timeout=SECONDS) as answer, open(file, "wb") as stream:
            while piece := answer.read(_PIECE):
                size += len(piece)
                if size > largest:
                    limit = f"{largest / 1e6:g} MB"
                    raise UserError(f"larger than {limit}", f"超过 {limit}")
                stream.write(piece)
    except urllib.error.HTTPError as error:
        host = _host(error.url)
        raise UserError(
            f"{host} answers {error.code} {error.reason}", f"{host} 返回 {error.code} {error.reason}"
        ) from None
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "reason", None) or error
        why = getattr(why, "strerror", None) or why  # without its number
        en, zh = (f" from {host}", f"从 {host} ") if (host := _host(url)) else ("", "")
        raise UserError(f"cannot be downloaded{en}: {why}", f"无法{zh}下载：{why}") from None
    return file


def _host(url: str) -> str:
    """The server, without the login; "" of what is no URL."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


class _Redirected(HTTPRedirectHandler):
    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        """A password is for the server that it was given for, and for no other."""
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request and (request.type, request.host) != (req.type, req.host):
            request.remove_header("Authorization")
        return request


def _request(url: str, accept: str) -> Request:
    """A user and a password of the URL become a header, as a browser does it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):  # an index may name any: a file of this machine, too
        raise ValueError(f"{parts.scheme}: neither http nor https")
    user, at, host = parts.netloc.rpartition("@")
    headers = {"Accept": accept, "User-Agent": f"porter/{__version__}"}
    if at:
        headers["Authorization"] = "Basic " + base64.b64encode(unquote(user).encode()).decode()
    return Request(urlunsplit(parts._replace(netloc=host)), headers=headers)
