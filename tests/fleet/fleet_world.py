"""Small repositories, archives of them, and a server that has them."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TRAIN = "import torch\nimport torch.nn as nn\n\nmodel = nn.Linear(4, 4).cuda()\ntorch.cuda.synchronize()\n"
FLASH = (
    "import torch\nfrom flash_attn import flash_attn_func\n\n\ndef f(q, k, v):\n    return flash_attn_func(q, k, v)\n"
)
SCATTER = "import torch\nfrom torch_scatter import scatter_add\n\n\ndef f(x, i):\n    return scatter_add(x.cuda(), i)\n"
PLAIN = "print('no torch here')\n"
FILES = {"plain": PLAIN, "train": TRAIN, "flash": FLASH, "scatter": SCATTER, "both": FLASH + SCATTER}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def repositories(folder: Path, *names: str) -> Path:
    """One folder for each of these, or for each of FILES."""
    for name in names or FILES:
        written(folder / name, {"train.py": FILES[name]})
    return folder


def git(folder: Path, *words: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *identity, "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


def committed(folder: Path, files: dict[str, str]) -> str:
    """A git repository with one commit more; its id."""
    written(folder, files)
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "m")
    return git(folder, "rev-parse", "HEAD")


def tarred(file: Path, members: dict[str, bytes], top: str = "") -> Path:
    with tarfile.open(file, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(top + name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def silent() -> Iterator[int]:
    """The port of a server that takes every call and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def result_bytes(output: Path) -> dict[str, bytes]:
    """All that a fleet wrote, without its lock."""
    files = (path for path in output.rglob("*") if path.is_file() and path.name != ".porter-fleet")
    return {path.relative_to(output).as_posix(): path.read_bytes() for path in files}
