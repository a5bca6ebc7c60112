"""The same tasks on a Ray cluster of two nodes, one of which is killed at work."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from command_line import TESTED
from fleet_world import TRAIN, repositories, result_bytes, written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="ray is not installed: it is in the `fleet` extra"
    ),
]
MANY = 6


@pytest.fixture
def cluster(monkeypatch):
    """Its head keeps the books and works on nothing, as a node that is killed must not be the one that keeps them."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTED), str(TESTED / "tests" / "fleet")]))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield made
    made.shutdown()


@pytest.fixture
def repos(tmp_path):
    repositories(tmp_path / "repos")
    for n in range(MANY):
        written(tmp_path / "repos" / f"more-{n}", {f"{m}.py": f"{TRAIN}x = {n}\n" for m in range(3)})
    return tmp_path


def command(repos, output: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "porter", "fleet", str(repos / "repos"), "-o", output, "--progress", "json", *more]


def ran(repos, output: str, *more: str) -> list[dict]:
    done = subprocess.run(command(repos, output, *more), capture_output=True, text=True, cwd=repos)
    assert done.returncode == 0, done  # what Ray says of a node that died is on stderr
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


def test_a_node_that_dies_loses_nothing_and_nothing_is_done_twice(cluster, repos):
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    written_at: Counter[str] = Counter()

    def kill() -> None:
        while len(list((repos / "ray" / "repositories").glob("*"))) < 4:
            time.sleep(0.05)
        cluster.remove_node(nodes[1], allow_graceful=False)

    watcher = threading.Thread(target=kill, daemon=True)
    watcher.start()
    events = ran(repos, str(repos / "ray"), "--ray", cluster.address)
    watcher.join(60)
    written_at.update(event["id"] for event in events)
    assert len(written_at) == MANY + 5 and set(written_at.values()) == {1}
    assert {event["state"] for event in events} <= {
        "done",
        "kept",
    }  # kept: it was written, and its node died before it said so
    assert sum(node["Alive"] for node in _nodes(cluster)) == 2
    ran(repos, str(repos / "local"), "-j", "1")
    assert result_bytes(repos / "ray") == result_bytes(repos / "local")
    assert {event["state"] for event in ran(repos, str(repos / "ray"), "--ray", cluster.address)} == {"kept"}


def _nodes(cluster) -> list[dict]:
    import ray

    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    try:
        return ray.nodes()
    finally:
        ray.shutdown()


def test_results_lie_where_fsspec_knows_a_way(cluster, repos):
    cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    place = f"file://{repos / 'far'}"
    assert {event["state"] for event in ran(repos, place, "--ray", cluster.address)} == {"done"}
    assert {event["state"] for event in ran(repos, place)} == {"kept"}
    ran(repos, str(repos / "local"))
    assert result_bytes(repos / "far") == result_bytes(repos / "local")


def test_a_node_with_another_porter_is_refused_by_name(cluster, repos, monkeypatch):
    other = repos / "other"
    for name in ("porter", "rules", "reports"):
        shutil.copytree(TESTED / name, other / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "rules" / "cuda.toml").open("a", encoding="utf-8") as stream:
        stream.write("\n# another rule\n")
    monkeypatch.setenv("PYTHONPATH", str(other))
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    monkeypatch.setenv("PYTHONPATH", str(TESTED))
    done = subprocess.run(
        command(repos, str(repos / "out"), "--ray", cluster.address), capture_output=True, text=True, cwd=repos
    )
    assert (
        done.returncode == 2
        and "these nodes have another porter than" in done.stderr
        and "\n" not in done.stderr.strip()
    )


def test_a_cluster_that_is_none(repos):
    done = subprocess.run(
        command(repos, str(repos / "out"), "--ray", "127.0.0.1:1"), capture_output=True, text=True, cwd=repos
    )
    assert done.returncode == 2 and done.stderr.startswith("porter: --ray 127.0.0.1:1: no cluster"), done.stderr


def test_what_is_known_of_libraries_comes_to_the_nodes_with_the_tasks(cluster, repos):
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    kernel = "import triton\n\n\n@triton.jit\ndef kernel(x):\n    pass\n\n\ndef fast(x):\n    kernel[(1,)](x)\n    return x\n"
    written(repos / "kit", {"__init__.py": kernel})
    written(repos / "repos" / "uses", {"train.py": "import torch\nimport kit\n\n\ndef f(x):\n    return kit.fast(x)\n"})
    ran(repos, str(repos / "ray"), "--ray", cluster.address, "--library", str(repos / "kit"))
    ran(repos, str(repos / "local"), "--library", str(repos / "kit"))
    found = result_bytes(repos / "ray")
    assert found == result_bytes(repos / "local") and sum(b"PRT705" in found[name] for name in found) > 0
    assert {event["state"] for event in ran(repos, str(repos / "ray"), "--library", str(repos / "kit"))} == {"kept"}
