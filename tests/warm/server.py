"""`server.py SOCKET MODULES...`: imports torch, or torch and torch_npu, once, then is the interpreter of each program that client.py
asks for.

A program is a fork that begins as an interpreter does: with the arguments, environment, folder, streams and limits of the
client, and with the sitecustomize of the device. What has been imported is hidden until the program imports it, so that
what hangs on an import happens when it would. Where WARM_LEAVES is set, it does not take down what it imported at its end;
where WARM_SPAWNS is set, the processes that it spawns begin here, too: those of a DataLoader do not bear another parent.
"""

import atexit
import contextlib
import gc
import importlib.machinery
import importlib.util
import json
import os
import resource
import runpy
import select
import signal
import socket
import sys
import threading
import types
import warnings

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_ENDS_IN = 2.0  # seconds that a program has to end once it is asked to


def main(path, modules):
    for name in modules:
        importlib.import_module(name)
    importlib.import_module("torch._dynamo")  # the first optimiser of a program would import it
    gc.collect()
    gc.freeze()
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [folder for folder in sys.path[1:] if folder not in inherited]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(64)
    os.rename(path + ".new", path)  # from now on it answers
    request = _serve(listener)
    if request is not None:
        _run(request, rest, modules)


def _serve(listener):
    """The request, in the fork that answers it; None when whoever started this is gone."""
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    running = {}
    while True:
        ready, _, _ = select.select([listener, woken, sys.stdin, *running.values()], [], [])
        if sys.stdin in ready:
            return None
        if woken in ready:
            os.read(woken, 512)
            _reap(running)
        for pid, client in list(running.items()):
            if client in ready:  # it never says more: it is gone, and so is what it asked for
                _stop(pid, running.pop(pid))
        if listener in ready:
            client, _ = listener.accept()
            request, streams = _read(client)
            if request is None:
                client.close()
                continue
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (listener, client, *running.values()):
                    each.close()
                os.close(woken)
                os.close(wake)
                _take(streams, request["streams"])
                return request
            for stream in streams:
                os.close(stream)
            running[pid] = client


def _read(client):
    """What is asked for; None of a client that was stopped before it had asked."""
    streams = []
    try:
        size, streams, _, _ = socket.recv_fds(client, 8, 16)
        with client.makefile("rb") as text:
            return json.loads(text.read(int.from_bytes(size, "little"))), streams
    except (OSError, ValueError):
        for stream in streams:
            os.close(stream)
        return None, []


def _take(streams, numbers):
    """The streams of the client have the numbers that they have there."""
    above = 1000
    for at, stream in enumerate(streams):
        os.dup2(stream, above + at)
        os.close(stream)
    for at, number in enumerate(numbers):
        os.dup2(above + at, number)
        os.close(above + at)


def _reap(running):
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        client = running.pop(pid, None)  # none: its end was given up
        if client is not None:
            with client, contextlib.suppress(BrokenPipeError):  # stopped in the moment that its program ended
                client.send(b"%d\n" % os.waitstatus_to_exitcode(status))


def _stop(pid, client):
    client.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):  # it has no session of its own yet
            os.killpg(pid, number)
        for _ in range(int(_ENDS_IN / 0.05)):
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            select.select([], [], [], 0.05)


def _run(request, rest, modules):
    code = 0
    try:
        _become(request, rest, modules)
    except SystemExit as left:
        code = left.code
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next.tb_next  # an interpreter has no such frames
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if "WARM_LEAVES" not in request["environment"] or not isinstance(code, int | None):
        sys.exit(code)
    # to take torch down costs more than most programs
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit((code or 0) & 0xFF)


def _become(request, rest, modules):
    os.setsid()
    words, environment = request["words"], request["environment"]
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(environment)
    for name, limits in request["limits"].items():
        resource.setrlimit(getattr(resource, name), tuple(limits))
    sys.orig_argv = [sys.executable, *words]
    sys.path[:] = [*filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)), *rest]
    if "WARM_SPAWNS" in environment:
        sys.modules["multiprocessing.spawn"].set_executable(environment["PYTHON_EXEC"])
    _hide(modules)
    if "torch_npu" in modules:
        _sitecustomize()
    if words[0] == "-B":
        del words[0]
    if words[0] == "-u":
        sys.stdout.reconfigure(write_through=True)
        del words[0]
    if words[:2] == ["-W", "ignore"]:
        sys.warnoptions.append("ignore")
        warnings.filterwarnings("ignore")
        del words[:2]
    if words[0] == "-m":
        sys.argv[:] = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    program = sys.modules["__main__"] = types.ModuleType("__main__")
    program.__builtins__ = __builtins__
    if words[0] == "-c":
        sys.argv[:] = ["-c", *words[2:]]
        sys.path.insert(0, "")
        text, name = words[1], "<string>"
    else:
        sys.argv[:] = words
        sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
        program.__file__ = name = os.path.join(os.getcwd(), words[0])
        with open(words[0], "rb") as stream:
            text = stream.read()
    exec(compile(text, name, "exec", dont_inherit=True), program.__dict__)


def _hide(modules):
    finder = _Imported({name: sys.modules.pop(name) for name in modules})
    sys.meta_path.insert(0, finder)


class _Imported:
    """Finds modules that are there already."""

    def __init__(self, modules):
        self.modules = {name: (module, module.__spec__) for name, module in modules.items()}

    def find_spec(self, name, path, target=None):
        if name not in self.modules:
            return None
        loader = _Loader(*self.modules[name], self.modules.keys())
        spec = importlib.machinery.ModuleSpec(name, loader, is_package=True)
        spec.submodule_search_locations = self.modules[name][1].submodule_search_locations
        return spec


class _Loader:
    def __init__(self, module, spec, others):
        self.module, self.spec, self.others = module, spec, others

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        module.__spec__, module.__loader__ = self.spec, self.spec.loader
        if module.__name__ == "torch" and "torch_npu" in self.others and os.environ.get(_AUTOLOAD, "1") == "1":
            importlib.import_module("torch_npu")


def _sitecustomize():
    """The module that stands first on the path, once more: nothing of the device was there when it ran."""
    spec = sys.modules["sitecustomize"].__spec__
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
