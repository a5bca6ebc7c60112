"""Fact files of libraries, as an analysis reads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from porter.engine.libraries import Fact, Libraries
from porter.errors import UserError
from porter.files.documents import Json
from porter.files.read import DOCUMENT
from porter.files.read import read as read_file
from porter.target import Target

LAYOUT = 2
VERDICTS = ("kernel", "triton", "missing", "package", "code")
PARTS = {"library": str, "version": str, "target": str, "functions": dict, "modules": dict}
_CURE = "make it with `porter analyze --library DIR --output FILE`"
_CURE_ZH = "请用 `porter analyze --library DIR --output FILE` 重新生成"


def read(files: Iterable[Path], target: Target) -> Libraries:
    """Raises UserError where a file is none of porter's, or was made for another target."""
    digest, names, facts = hashlib.sha256(), [], {}
    for file in files:
        data = read_file(file, str(file), limit=DOCUMENT)
        document = _document(file, data)
        library = " ".join(filter(None, (document["library"], document["version"])))
        _same_target(file, document, target)
        digest.update(data)
        names.append(document["library"])
        for kind in ("functions", "modules"):
            for name, row in document[kind].items():
                chain = " -> ".join(row["chain"])
                facts[name] = Fact(library, row["verdict"], row["end"], chain, kind == "modules", row.get("when", ""))
    return Libraries(digest.hexdigest()[:16] if names else "", tuple(sorted(set(names))), facts)


def target_of(target: Target) -> str:
    """As a fact file names it, and `--target` takes it."""
    return f"torch_npu={target.torch_npu},soc={target.soc}"


def for_every_target(facts: Json) -> Json:
    """A fact file without what a torch lacks, which is another matter for another torch; kernels are kernels everywhere."""
    kinds = {
        kind: {n: row for n, row in facts[kind].items() if not _of_one_target(row)} for kind in ("modules", "functions")
    }
    return {**facts, **kinds}


def _of_one_target(row: Json) -> bool:
    return bool(row["verdict"] == "missing")


def _document(file: Path, data: bytes) -> Json:
    try:
        document = json.loads(data)
    except json.JSONDecodeError as error:
        place, why = f"{file}:{error.lineno}", error.msg
        raise UserError(f"{place}: not JSON ({why}); {_CURE}", f"{place}：不是 JSON（{why}）；{_CURE_ZH}") from None
    except (UnicodeDecodeError, RecursionError, MemoryError):
        raise UserError(f"{file}: not JSON; {_CURE}", f"{file}：不是 JSON；{_CURE_ZH}") from None
    if not isinstance(document, dict) or not isinstance(document.get("layout"), int):
        raise UserError(f"{file}: no fact file of porter; {_CURE}", f"{file}：不是 porter 的库信息文件；{_CURE_ZH}")
    if document["layout"] != LAYOUT:
        raise UserError(
            f"{file}: was written by another version of porter; {_CURE} again",
            f"{file}：由其他版本的 porter 写出；{_CURE_ZH}",
        )
    whole = all(isinstance(document.get(key), kind) for key, kind in PARTS.items())
    if not whole or not all(map(_is_row, _rows(document))):
        raise UserError(
            f"{file}: a fact file that is not as porter wrote it; {_CURE} again",
            f"{file}：内容与 porter 写出的不一致；{_CURE_ZH}",
        )
    return document


def _rows(document: Json) -> tuple[Any, ...]:
    return *document["functions"].values(), *document["modules"].values()


def _is_row(row: object) -> bool:
    if not isinstance(row, dict) or row.get("verdict") not in VERDICTS:
        return False
    if not isinstance(row.get("end"), str) or not isinstance(row.get("when", ""), str):
        return False
    chain = row.get("chain")
    return isinstance(chain, list) and bool(chain) and all(isinstance(name, str) for name in chain)


def _same_target(file: Path, document: Json, target: Target) -> None:
    wanted = target_of(target)
    if document["target"] != wanted and any(map(_of_one_target, _rows(document))):
        raise UserError(
            f"{file}: made for {document['target']}, and this run is for {wanted}; {_CURE} --target {wanted}",
            f"{file}：针对 {document['target']} 生成，而本次目标为 {wanted}；{_CURE_ZH}，并加 --target {wanted}",
        )
