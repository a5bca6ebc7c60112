"""`porter catalog`: what each torch_npu offers. Only `build` uses the network, through pip."""

from __future__ import annotations

from pathlib import Path

from porter.cli import OK


def rebuild(torch_npu: list[str], output: str | None, wheels: str | None, update_sources: bool) -> int:
    from porter.catalog import download
    from porter.catalog.build import build
    from porter.resources import rules_dir

    folder = Path(output) if output else rules_dir() / "catalog"
    sources = download.sources_file()
    for version in torch_npu:
        found = download.pair(version, Path(wheels) if wheels else None)
        if update_sources:
            download.record(version, found, sources)
        download.check(version, found, sources)
        for name, data in build(*found).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
            print(f"{folder / name}: {len(data)} bytes")
    return OK
