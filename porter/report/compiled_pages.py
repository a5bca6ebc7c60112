"""The templates of pages, compiled into the user's cache: jinja2 needs a tenth of a second for those of one report."""

from __future__ import annotations

import marshal
import os
import sys
from pathlib import Path
from zlib import crc32

import jinja2

from porter import __version__
from porter.resources import cache_dir
from porter.rulebook.compiled import read_part, write_parts

_MOST = 60  # templates that are kept; there are twenty of them, of each version


class Compiled(jinja2.BytecodeCache):
    """Known by the text of a template, by versions, and by the module that says how templates are compiled."""

    def __init__(self, compiler: str) -> None:
        """`compiler`: the file of the module that makes the environment."""
        status = os.stat(compiler)
        versions = (__version__, jinja2.__version__, sys.implementation.cache_tag, sys.hexversion, marshal.version)
        self._about = repr((versions, status.st_size, status.st_mtime_ns))

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        bucket.code = read_part(*self._place(bucket), "code")

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        write_parts(*self._place(bucket), {"code": bucket.code}, _MOST)

    def _place(self, bucket: jinja2.bccache.Bucket) -> tuple[Path, str]:
        key = f"{bucket.checksum}{crc32((self._about + bucket.key).encode()):08x}"
        return cache_dir() / f"page-{key}.bin", key
