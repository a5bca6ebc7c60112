"""The file of a package at an index: its source distribution, else a wheel, as the simple API names them (PEP 503, 691).

PIP_INDEX_URL names another index than pypi.org. The file is only downloaded: nothing is built, so nothing of it runs.
"""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urldefrag, urljoin, urlsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from porter.errors import UserError
from porter.fleet.download import download
from porter.fleet.identity import of_bytes

INDEX = "https://pypi.org/simple"
ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
_LARGEST_PAGE = 100_000_000


class File(NamedTuple):
    name: str
    url: str
    sha256: str


def fetch_package(asked: str, folder: str) -> str:
    """`asked`: NAME==VERSION. Raises UserError."""
    name, _, text = asked.partition("==")
    try:
        version = Version(text)
    except InvalidVersion:
        raise UserError(f"{text!r} is no version of a package", f"{text!r} 不是有效的包版本") from None
    index = (os.environ.get("PIP_INDEX_URL") or INDEX).rstrip("/")
    page = f"{index}/{canonicalize_name(name)}/"
    found = sorted((rank, file) for file in _files(page, folder) if (rank := _rank(file.name, version)) is not None)
    if not found:
        raise UserError(
            f"the index has no source distribution and no wheel of {asked}", f"索引中没有 {asked} 的源码包或 wheel"
        )
    file = found[0][1]
    path = download(file.url, folder)
    if file.sha256 and of_bytes(path) != file.sha256:
        raise UserError(f"{file.name}: not the bytes that the index names", f"{file.name}：与索引给出的校验和不符")
    return path


def _rank(name: str, version: Version) -> tuple[int, str] | None:
    """The source before a wheel, a wheel for any machine before others; None for another version."""
    try:
        if name.endswith(".whl"):
            _, found, _, tags = parse_wheel_filename(name)
            rank = 1 if any(tag.platform == "any" for tag in tags) else 2
        else:
            found, rank = parse_sdist_filename(name)[1], 0
    except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
        return None
    return (rank, name) if found == version else None


def _files(page: str, folder: str) -> list[File]:
    with open(download(page, folder, ACCEPT, _LARGEST_PAGE), "rb") as stream:
        text = stream.read().decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        try:
            rows = json.loads(text)["files"]
            return [
                File(str(row["filename"]), urljoin(page, row["url"]), row.get("hashes", {}).get("sha256", ""))
                for row in rows
            ]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UserError("the answer of the index cannot be read", "无法读取索引的回答") from None
    links = _Links()
    links.feed(text)
    return [_of_link(urljoin(page, link)) for link in links.found]


def _of_link(link: str) -> File:
    url, mark = urldefrag(link)
    return File(unquote(urlsplit(url).path).rpartition("/")[2], url, parse_qs(mark).get("sha256", [""])[0])


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for key, value in attrs if tag == "a" and key == "href" and value]
