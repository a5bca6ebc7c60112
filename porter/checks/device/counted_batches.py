"""`args.n_gpu = torch.cuda.device_count()`, by which another file of the program multiplies its batches."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.files.paths import folder_of
from porter.python.index import chain_of

_COUNT = "torch.cuda.device_count"


def counted_by(file: RuleFile, name: str, link: Link | None) -> tuple[str, str] | None:
    """("batches", the file that does so), if that asks for GPUs before it wraps the model in DataParallel."""
    call = chain_of(link)[1] if link is not None and name == _COUNT else None
    statement = call[1][0] if call is not None and call[1] is not None else None
    if not isinstance(statement, ast.Assign) or call is None or statement.value is not call[0]:
        return None
    if not any(getattr(target, "attr", getattr(target, "id", "")) == "n_gpu" for target in statement.targets):
        return None
    folder = folder_of(file.path)
    counting = (path for top, path in file.facts.accelerators.batches if top == folder and path != file.path)
    return next((("batches", path) for path in counting), None)
