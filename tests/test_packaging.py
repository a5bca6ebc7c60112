"""What is shipped: the wheel keeps its data inside the package, and the sdist can build the same wheel and run the tests."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import porter

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SHIPPED = (".ci", "benchmarks", "docs", "examples", "porter", "reports", "rules", "tests")
MADE = {"__pycache__", ".hypothesis", ".pytest_cache", ".ruff_cache"}


def build(source: Path, out: Path, *kinds: str) -> list[Path]:
    # The editable install of `make test` has built in isolation already; here the same backend works offline.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *kinds, str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(out.iterdir())


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel, both made from the working tree."""
    wheel, sdist = build(ROOT, tmp_path_factory.mktemp("dist"), "--sdist", "--wheel")
    assert (sdist.name, wheel.name) == (
        f"npu_porter-{porter.__version__}.tar.gz",
        f"npu_porter-{porter.__version__}-py3-none-any.whl",
    )
    return sdist, wheel


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files(folder: Path) -> set[str]:
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file() or p.is_symlink())
    return {p.as_posix() for p in found if not MADE & set(p.parts) and p.suffix != ".pyc"}


def test_the_wheel_holds_the_package_and_nothing_beside_it(dist: tuple[Path, Path]) -> None:
    names = contents(dist[1])
    assert {name.split("/")[0] for name in names} == {"porter", f"npu_porter-{porter.__version__}.dist-info"}
    code = {name.removeprefix("porter/") for name in names if name.startswith("porter/") and "/_data/" not in name}
    assert code == files(ROOT / "porter")


def test_the_wheel_carries_the_data_inside_the_package(dist: tuple[Path, Path]) -> None:
    shipped = contents(dist[1])
    for packaged, checkout in (("rules", ROOT / "rules"), ("templates", ROOT / "reports" / "templates")):
        prefix = f"porter/_data/{packaged}/"
        inside = {name.removeprefix(prefix): data for name, data in shipped.items() if name.startswith(prefix)}
        assert inside == {name: (checkout / name).read_bytes() for name in files(checkout)}


def test_the_metadata_says_what_it_is(dist: tuple[Path, Path]) -> None:
    shipped = contents(dist[1])
    info = f"npu_porter-{porter.__version__}.dist-info"
    metadata = email.message_from_bytes(shipped[f"{info}/METADATA"])
    assert (metadata["Name"], metadata["Version"]) == ("npu-porter", porter.__version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert shipped[f"{info}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    required = [r for r in metadata.get_all("Requires-Dist") if "extra ==" not in r]
    assert required and not any(r.startswith("torch") for r in required)


def test_the_sdist_has_what_it_takes_to_build_and_test(dist: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(dist[0]) as archive:
        archive.extractall(tmp_path)
    tree = tmp_path / f"npu_porter-{porter.__version__}"
    for folder in SHIPPED:
        assert files(ROOT / folder) == files(tree / folder), folder
    pages = sorted(path.name for path in ROOT.glob("*.md"))
    for name in ("LICENSE", "Makefile", *pages, "pyproject.toml", ".pre-commit-hooks.yaml"):
        assert (tree / name).read_bytes() == (ROOT / name).read_bytes()
    assert os.access(tree / ".ci" / "run", os.X_OK) == os.access(ROOT / ".ci" / "run", os.X_OK)
    [again] = build(tree, tmp_path / "again", "--wheel")
    assert contents(again) == contents(dist[1])


@pytest.fixture(scope="module")
def installed(dist: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a fresh environment: the wheel is in it, its dependencies are borrowed from this one."""
    where = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", where], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", where]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", dist[1]], check=True)
    commands = where / ("Scripts" if os.name == "nt" else "bin")
    [metadata] = where.rglob("npu_porter-*.dist-info")
    # A .pth file comes after the environment's own packages and reads no other: this checkout stays out of sight.
    (metadata.parent / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return commands


def run(command: list[str | Path], cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"PYTHONUTF8": "1", "NO_COLOR": "1"}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8")


def test_the_installed_command_works_anywhere(installed: Path, tmp_path: Path) -> None:
    where = run([installed / "python", "-c", "import porter; print(porter.__file__)"], tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(installed.parent), where

    version = run([installed / "porter", "--version"], tmp_path)
    assert (version.returncode, version.stdout) == (0, f"porter {porter.__version__}\n"), version

    rules = run([installed / "porter", "rules"], tmp_path)
    assert rules.returncode == 0 and "PRT101" in rules.stdout, rules

    (tmp_path / "train.py").write_text("import torch\n\ntorch.cuda.synchronize()\n", encoding="utf-8")
    analysis = run([installed / "porter", "analyze", "train.py"], tmp_path)
    assert analysis.returncode == 1 and "PRT101" in analysis.stdout, analysis

    migration = run([installed / "porter", "migrate", "--inplace", "train.py"], tmp_path)
    assert migration.returncode == 0, migration
    after = (tmp_path / "train.py").read_text(encoding="utf-8").splitlines()
    assert after[0] == "import torch" and after[1].startswith("import torch_npu"), after
    assert after[2:] == ["", "torch.npu.synchronize()"], after
