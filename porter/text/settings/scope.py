"""Which settings files are about the training (PROJECT), which configure continuous integration (PIPELINE), and which are
data or for NPUs already (NOTHING)."""

from __future__ import annotations

from porter.regex import lazy
from porter.text import packages
from porter.text.document import Document
from porter.text.settings.entries import MOST, Settings

NOTHING, PIPELINE, PROJECT = "nothing", "pipeline", "project"
_DATA = lazy(
    r"(?i)(?:^|/)(?:package(?:-lock)?|composer|tokenizer\w*|vocab|merges|special_tokens_map|dataset_infos?|trainer_state|"
    r"[\w.-]*\.index|[\w.-]*(?:results?|metrics|history|[._-]logs?|golden)[\w.-]*)\.json$"
    r"|\.lock$|(?:^|/)(?:\.pre-commit-config|mkdocs|codecov|_config|\.readthedocs|pnpm-lock|conda-lock)\.ya?ml$"
    r"|(?:^|/)(?:results?|outputs?|logs?|wandb|goldens?|golden_values)/.*\.json$"
)
_PIPELINE = lazy(
    r"(?:^|/)\.(?:github|circleci|buildkite|gitlab|lightning)/|(?:^|/)\.?(?:gitlab-ci|travis|azure-pipelines)[\w.-]*$"
)


def scope(document: Document, settings: Settings) -> str:
    if not settings.whole or len(settings.entries) > MOST or _DATA.search(document.path):
        return NOTHING
    if document.path in document.session.facts.accelerators.npu_twins or packages.for_npus(document.path):
        return NOTHING  # the file for NPUs stands beside it, or is it
    return PIPELINE if _PIPELINE.search(document.path) else PROJECT
