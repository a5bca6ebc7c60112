"""The compiled rules: a cache that is never trusted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import TESTED, unmeasured
from rules_samples import ALL, forget

from porter.resources import rules_dir
from porter.rulebook import compiled, table

pytest_plugins = ["rules_fixtures"]
pytestmark = pytest.mark.usefixtures("cache")


def _fresh(directory: Path) -> tuple[table.Tables, dict]:
    forget()
    return table.load(directory), table.prose(directory)


def _without_parser(monkeypatch) -> None:
    def fail(*_):
        raise AssertionError("the rules were parsed although the cache holds them")

    monkeypatch.setattr("porter.rulebook.tabulate.build", fail)


@pytest.mark.slow
def test_warm_equals_cold(cache, monkeypatch):
    cold = _fresh(rules_dir())
    (kept,) = cache.glob("*")
    _without_parser(monkeypatch)
    assert _fresh(rules_dir()) == cold
    assert kept.name.startswith("rules-") and kept.suffix == ".bin"


def test_a_change_of_the_rules_is_seen(folder):
    place = folder(ALL)
    assert "torch.cuda.synchronize" in _fresh(place)[0].moves
    stamp = (place / "a.toml").stat().st_mtime_ns
    folder(ALL.replace("synchronize", "synchronise"))  # as long as before, and of the same time
    os.utime(place / "a.toml", ns=(stamp, stamp))
    assert "torch.cuda.synchronise" in _fresh(place)[0].moves


def test_another_version_has_a_cache_of_its_own(cache, folder, monkeypatch):
    place = folder(ALL)
    first = _fresh(place)
    monkeypatch.setattr(compiled, "__version__", "0.0.0")
    assert _fresh(place) == first
    assert len(list(cache.glob("*.bin"))) == 2


def test_a_cache_under_another_name_is_not_believed(cache, folder):
    _fresh(folder(ALL))
    (old,) = cache.glob("*.bin")
    right = _fresh(folder(ALL.replace("synchronize", "synchronise")))
    (new,) = set(cache.glob("*.bin")) - {old}
    new.write_bytes(old.read_bytes())
    assert _fresh(folder(ALL.replace("synchronize", "synchronise"))) == right


@pytest.mark.slow
def test_every_damage_is_noticed(cache, folder):
    place = folder(ALL)
    right = _fresh(place)
    (kept,) = cache.glob("*.bin")
    whole = kept.read_bytes()
    damages = [
        b"",
        whole[:20],
        whole[: len(whole) // 2],
        whole[:-1],
        whole + b"x",
        b"\0" * len(whole),
        whole.replace(b":", b";"),
    ]
    damages += [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(0, len(whole), 7)]
    for damaged in damages:
        kept.write_bytes(damaged)
        assert _fresh(place) == right, damaged[:60]


def test_a_damaged_cache_is_mended(cache, folder, monkeypatch):
    place = folder(ALL)
    right = _fresh(place)
    (kept,) = cache.glob("*.bin")
    kept.write_bytes(kept.read_bytes()[:-3])
    assert _fresh(place) == right
    _without_parser(monkeypatch)
    assert _fresh(place) == right


@pytest.mark.parametrize("where", ["below a file", "a folder in its place"])
def test_a_cache_that_cannot_be_written(tmp_path, folder, monkeypatch, where):
    place = folder(ALL)
    right = _fresh(place)
    if where == "below a file":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("PORTER_CACHE_DIR", str(tmp_path / "file" / "cache"))
    else:
        (kept,) = (tmp_path / "cache").glob("*.bin")
        kept.unlink()
        kept.mkdir()
    assert _fresh(place) == right
    assert not list(tmp_path.rglob("*.tmp"))


def test_old_caches_are_cleared(cache, folder):
    for n in range(12):
        _fresh(folder(ALL.replace("api-renamed", f"api-{n}")))
    assert len(list(cache.glob("*"))) == 8


def test_where_the_cache_is(tmp_path, monkeypatch):
    from porter.resources import cache_dir

    monkeypatch.delenv("PORTER_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() == tmp_path / "porter"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the specification says to ignore it
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_dir() == tmp_path / "home" / ".cache" / "porter"
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # no home that anybody knows
    assert cache_dir().is_absolute() and not cache_dir().parent.is_dir()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_dir() == tmp_path / "local" / "porter"


@pytest.mark.slow
def test_no_hash_seed_shows(tmp_path):
    program = (
        "from porter.rulebook import table; from porter.rulebook.texts import Texts;"
        "t = Texts(); print(table.load(), table.prose(), *map(t.rule, t.codes()), t.suggest('torch.cuda.device_cuont'))"
    )
    outputs = set()
    for seed in "0", "1", "4242":
        for place in "shared", f"own-{seed}":
            env = {
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PORTER_CACHE_DIR": str(tmp_path / place),
                "PYTHONIOENCODING": "utf-8",
            }
            run = subprocess.run([sys.executable, "-c", program], cwd=TESTED, env=env, capture_output=True, check=True)
            outputs.add(run.stdout)
    assert len(outputs) == 1 and outputs.pop()


@pytest.mark.slow
def test_a_warm_start_imports_no_parser(cache):
    _fresh(rules_dir())
    program = "import sys; from porter.rulebook import table; table.load(); print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=TESTED, capture_output=True, text=True, check=True, env=unmeasured()
    )
    assert not {"tomli", "porter.rulebook.schema", "porter.rulebook.tabulate", "hashlib", "libcst"} & set(
        run.stdout.split()
    )
