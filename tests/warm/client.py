"""`client.py PYTHON SOCKET WORDS...`: server.py, which has imported torch already, runs what an interpreter is asked to run
with these words, and this ends as that does."""

import json
import os
import re
import resource
import socket
import sys

_LIMITS = ("RLIMIT_DATA", "RLIMIT_CORE")
_TRACKER = "from multiprocessing.resource_tracker import"  # needs no torch


def main(interpreter, python, path, words):
    if words[0] in ("-X", "-") or any(word.startswith(_TRACKER) for word in words):
        os.execv(interpreter, [interpreter, *words])
    os.environ["PYTHON_EXEC"] = python  # what torchrun starts its ranks with
    streams = [0, 1, 2]
    if words[-1] == "--multiprocessing-fork":
        streams += map(int, re.findall(r"=(\d+)", words[-2]))
    request = {
        "words": words, "environment": dict(os.environ), "folder": os.getcwd(), "streams": streams,
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in _LIMITS},
    }  # fmt: skip
    text = json.dumps(request).encode()
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(path)
    except ConnectionRefusedError:  # why is in what it said at its end
        with open(os.path.join(os.path.dirname(path), "server.txt"), errors="replace") as said:
            sys.exit(f"the interpreter that has torch has ended:\n{said.read()}")
    socket.send_fds(server, [len(text).to_bytes(8, "little")], streams)
    server.sendall(text)
    for stream in streams[3:]:
        os.close(stream)
    said = server.recv(16)
    code = int(said) if said else 1
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:4], sys.argv[4:])
