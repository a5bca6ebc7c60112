"""What lies beside ASCEND_PROFILER_OUTPUT: versions, level, variables of the environment, the groups of ranks."""

from __future__ import annotations

import json
import os
from typing import Any

from porter.files.read import read
from porter.profiles import errors
from porter.profiles.model import Profile
from porter.regex import lazy

_LARGE = 16_000_000
_RANK = lazy(r"(?:^|[_.-])rank[_-]?(\d{1,6})(?:[_.-]|$)")
_INFO = lazy(r"^profiler_info(?:_(\d{1,6}))?\.json$")
_METADATA = "profiler_metadata.json"
_VERSIONS = {"torch_npu_version": "torch_npu", "cann_version": "CANN"}


def rank_in(name: str) -> int | None:
    match = _RANK.search(name)
    return int(match[1]) if match else None


def add_metadata(profile: Profile, folder: str, names: list[str]) -> None:
    """`folder` is the one that ASCEND_PROFILER_OUTPUT is in, `names` its files."""
    profile.origin.rank = rank_in(os.path.basename(folder))
    for name in names:
        if match := _INFO.match(name):
            document = _document(os.path.join(folder, name))
            profile.origin.rank = int(match[1]) if match[1] else profile.origin.rank
            for key, what in _VERSIONS.items():
                if isinstance(document.get(key), str):
                    profile.origin.made_with[what] = document[key]
            config = document.get("config")
            experimental = config.get("experimental_config") if isinstance(config, dict) else None
            if isinstance(experimental, dict) and isinstance(experimental.get("_profiler_level"), str):
                profile.origin.made_with["level"] = experimental["_profiler_level"]
        elif name == _METADATA:
            document = _document(os.path.join(folder, name))
            variables, groups = document.get("ENV_VARIABLES"), document.get("parallel_group_info")
            if isinstance(variables, dict):
                profile.origin.variables = {
                    str(key): str(value) for key, value in variables.items() if value not in ("", None)
                }
            profile.origin.world = max(map(_last, groups.values()), default=0) if isinstance(groups, dict) else 0


def _last(group: object) -> int:
    """How many ranks there are, as far as this group tells."""
    ranks = group.get("global_ranks") if isinstance(group, dict) else None
    return 1 + max((rank for rank in ranks if isinstance(rank, int)), default=-1) if isinstance(ranks, list) else 0


def _document(file: str) -> dict[str, Any]:
    try:
        document = json.loads(read(file, limit=_LARGE))
    except (ValueError, RecursionError) as error:
        raise errors.damaged(file, getattr(error, "pos", 0) + 1, str(error)) from None
    return document if isinstance(document, dict) else {}
