"""The two wheels of one catalogue: found in a folder or fetched by pip, and held against their recorded checksums."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from porter.catalog.make.sources import CatalogueError, Wheel
from porter.files.errors import FilesError, Message
from porter.files.read import read
from porter.resources import cache_dir, make_ours, rules_dir
from porter.versions import base, sure

# Wheels for other machines than this one: the same two files on each.
_LINUX = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
_MACOS = ("macosx_14_0_arm64", "macosx_11_0_arm64")  # every .py and the operator table in 60 to 110 MB
_PYTHON = ("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "none")


def sources_file() -> Path:
    return rules_dir() / "catalog" / "sources.toml"


def pair(version: str, folder: Path | None) -> tuple[Path, Path]:
    """The wheels of torch_npu `version` and of its torch; from `folder` if given, else from the cache or by pip."""
    torch = base(version)
    return _wheel("torch_npu", version, _LINUX, folder), _wheel("torch", torch, _MACOS, folder)


def checksums(file: Path) -> dict[str, dict[str, str]]:
    """{torch_npu version: {file name: sha256}}"""
    import tomli

    try:
        return tomli.loads(read(file).decode("utf-8"))
    except FilesError as error:
        if error.key == "missing":
            return {}
        raise
    except (ValueError, RecursionError) as error:
        raise CatalogueError(f"{file}: cannot be read: {error}", f"{file}：无法读取：{error}") from None


def check(version: str, wheels: tuple[Path, Path], file: Path) -> None:
    """Where the version is listed, its wheels are those or none."""
    listed = checksums(file).get(version)
    if listed is None:
        return
    for path in wheels:
        digest = Wheel(path).sha256
        if listed.get(path.name) != digest:
            wanted = listed.get(path.name, "no checksum")
            raise CatalogueError(
                f"{path}: sha256 {digest}, but {file.name} lists {wanted} for torch_npu {version}; "
                "fetch that wheel, or record this one with --update-sources",
                f"{path}：sha256 为 {digest}，而 {file.name} 中 torch_npu {version} 记录的是 {wanted}；"
                "请换用该 wheel，或用 --update-sources 记录当前文件",
            )


def record(version: str, wheels: tuple[Path, Path], file: Path) -> None:
    rows = checksums(file) | {version: {path.name: Wheel(path).sha256 for path in wheels}}
    lines = ["# The wheels each catalogue is read from. porter catalog build --update-sources writes this file."]
    for key in sorted(rows, key=sure):
        lines += ["", f'["{key}"]', *(f'"{name}" = "{digest}"' for name, digest in rows[key].items())]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _wheel(name: str, version: str, platforms: tuple[str, ...], folder: Path | None) -> Path:
    wheel_folder = folder or cache_dir() / "wheels"
    if folder is None and not (make_ours(cache_dir()) and make_ours(wheel_folder)):
        message = Message("cache", path=wheel_folder)
        raise CatalogueError(message.text("en"), message.text("zh"))
    if wheels := sorted(wheel_folder.glob(f"{name}-{version}-*.whl")):
        return wheels[-1]
    if folder is not None:
        wanted = f"{name}-{version}-*.whl"
        raise CatalogueError(f"{folder}: no wheel {wanted} in it", f"{folder}：其中没有 {wanted}")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", *_PYTHON, *(part for p in platforms for part in ("--platform", p))]
    command += ["--dest", str(wheel_folder), f"{name.replace('_', '-')}=={version}"]
    process = subprocess.run(command, capture_output=True, text=True)
    wheels = sorted(wheel_folder.glob(f"{name}-{version}-*.whl"))
    if process.returncode or not wheels:
        reason = (process.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise CatalogueError(f"pip cannot fetch {name} {version}: {reason}", f"pip 无法下载 {name} {version}：{reason}")
    return wheels[-1]
