"""One interpreter serves the programs of many tests: what becomes of one client is nothing that another one meets."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from virtual_device import VirtualNpu

_PROGRAM = "import os; os.write(1, b'here'); {}"


def _client(npu: VirtualNpu) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(Path(npu.warm.path).parents[1] / "socket"))
    return client


def _ask(npu: VirtualNpu, program: str) -> tuple[socket.socket, int]:
    """The client, and where its program writes to."""
    reads, writes = os.pipe()
    words = ["-c", _PROGRAM.format(program)]
    request = {
        "words": words, "environment": npu.environment(), "folder": str(npu.folder), "streams": [0, 1, 2], "limits": {},
    }  # fmt: skip
    text, client = json.dumps(request).encode(), _client(npu)
    with open(os.devnull) as nothing:
        socket.send_fds(client, [len(text).to_bytes(8, "little")], [nothing.fileno(), writes, writes])
    client.sendall(text)
    os.close(writes)
    return client, reads


@pytest.mark.parametrize("size", [0, 100])
def test_a_client_that_is_stopped_before_it_has_asked(virtual_npu: VirtualNpu, size: int) -> None:
    with _client(virtual_npu) as client:
        client.sendall(size.to_bytes(8, "little")[:size])
    assert virtual_npu.program("print(8)").stdout == "8\n"


def test_a_client_that_is_stopped_in_the_moment_that_its_program_ends(virtual_npu: VirtualNpu) -> None:
    ends, of_ends = _ask(virtual_npu, "import time; time.sleep(0.5); os._exit(0)")
    stays, of_stays = _ask(
        virtual_npu, "import signal as s; s.signal(s.SIGTERM, s.SIG_IGN); os.write(1, b'!'); s.pause()"
    )
    for reads, said in ((of_ends, b"here"), (of_stays, b"here!")):
        while said:
            heard = os.read(reads, 8)
            assert heard and said.startswith(heard)
            said = said.removeprefix(heard)
    stays.close()  # it takes its time to stop: what happens meanwhile is met at once
    assert os.read(of_ends, 8) == b""
    ends.close()
    os.close(of_ends)
    os.close(of_stays)
    assert virtual_npu.program("print(8)").stdout == "8\n"


def test_a_client_that_is_stopped_before_its_program_begins(virtual_npu: VirtualNpu) -> None:
    for _ in range(3):
        client, reads = _ask(virtual_npu, "os._exit(0)")
        client.close()
        os.close(reads)
    assert virtual_npu.program("print(8)").stdout == "8\n"


def test_a_program_whose_client_is_gone_is_stopped(virtual_npu: VirtualNpu) -> None:
    client, reads = _ask(virtual_npu, "import time; time.sleep(600)")
    assert os.read(reads, 8) == b"here"
    client.close()
    assert os.read(reads, 8) == b""
    os.close(reads)
