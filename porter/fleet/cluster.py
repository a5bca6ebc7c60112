"""The engine of a Ray cluster: the same tasks, on whichever nodes it has. Ray itself spreads them, tries them again where a
node dies, and starts those of another; porter holds no more than a row of each.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any

from porter.errors import UserError
from porter.files.documents import Json
from porter.fleet import identity
from porter.fleet.libraries import Shared
from porter.fleet.row import of_failure
from porter.fleet.task import Task, perform

RETRIES = 5  # of a task whose node or worker died
SECONDS = 20  # for the head of the cluster to answer
AHEAD = 2  # tasks that wait for each core: so many are in the hands of Ray at a time


def rows(tasks: Sequence[Task], address: str) -> Iterator[tuple[str, Json]]:
    """The id and the row of each, in the order in which they end. Raises UserError."""
    try:
        import ray
    except ImportError:
        raise UserError(
            "--ray: ray is not installed: pip install 'npu-porter[fleet]'",
            "--ray：没有安装 ray：pip install 'npu-porter[fleet]'",
        ) from None
    with redirect_stdout(sys.stderr):  # where Ray says that a node died; standard output is porter's
        try:
            _call(address)
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, OverflowError, RuntimeError, OSError) as error:
            why = str(error).strip().partition("\n")[0]
            raise UserError(f"--ray {address}: no cluster: {why}", f"--ray {address}：没有集群：{why}") from None
        try:
            _check_nodes(ray)
            yield from _rows(ray, tasks)
        finally:
            ray.shutdown()


def _call(address: str) -> None:
    """Ray itself goes on calling for minutes where nobody answers."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in address:
        socket.create_connection((host.strip("[]"), int(port)), SECONDS).close()


def _rows(ray: Any, tasks: Sequence[Task]) -> Iterator[tuple[str, Json]]:
    # a result that is there is not made again, so that a task may be tried as often as nodes die
    remote = ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")(_perform)
    shared = ray.put(tasks[0].libraries if tasks else ())  # comes to each node once
    waiting = iter(tasks)
    running: dict[Any, str] = {}
    while True:
        room = max(1, AHEAD * int(ray.cluster_resources().get("CPU", 1)))
        while len(running) < room and (task := next(waiting, None)) is not None:
            running[remote.remote(task._replace(libraries=()), shared)] = task.id
        if not running:
            return
        for done in ray.wait([*running], num_returns=1)[0]:
            yield running.pop(done), _row(ray, done)


def _perform(task: Task, libraries: tuple[Shared, ...]) -> Json:
    return perform(task._replace(libraries=libraries))


def _row(ray: Any, done: Any) -> Json:
    try:
        row: Json = ray.get(done)
    except ray.exceptions.RayError as error:  # the nodes died as often as it was tried, or an error of porter's own
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return of_failure(f"Ray: {lines[-1]}", f"Ray：{lines[-1]}") | {"is_new": False}
    return row


def _porter() -> str:
    return identity.of_porter()


def _check_nodes(ray: Any) -> None:
    """The same porter everywhere: another one finds something else."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here, others = identity.of_porter(), []
    asked = []
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU"):
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            probe = ray.remote(num_cpus=0, scheduling_strategy=there)(_porter)
            asked.append((node["NodeManagerAddress"], probe.remote()))
    for address, answer in asked:
        try:
            found = ray.get(answer)
        except ray.exceptions.RayError as error:
            found = "none" if "ModuleNotFoundError" in str(error) else type(error).__name__
        if found != here:
            others.append(f"{address} ({found})")
    if others:
        names = ", ".join(others)
        raise UserError(
            f"--ray: these nodes have another porter than {here}: {names}; install the same everywhere",
            f"--ray：以下节点的 porter 与 {here} 不同：{names}；请在各节点安装同一版本",
        )
