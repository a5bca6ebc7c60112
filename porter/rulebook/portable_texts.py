"""What the style portable makes of advice: what is for NPUs alone has to stand behind a question, and no device is written out."""

from __future__ import annotations

from porter.finding import Finding
from porter.regex import lazy
from porter.rulebook.texts import Texts
from porter.rulebook.words import words

_DEVICE = lazy(r"\b(GradScaler|autocast)\(\"npu\"")
_FOR_NPUS = lazy(r"\btorch_npu\.(?:optim\.|npu_)\w")  # optimisers and operators; what builds an extension is no call
STYLE = "portable"
_SAID = ("place", "kind", "default")  # what a message says of the NPU where the edit is for the accelerator


def followed(message: str, details: str, lang: str, *, done: bool) -> str:
    """The details of a finding, and what a person has to mind who follows it; `done`: porter makes the edit."""
    if done:
        return details
    said = words("portable_texts", lang)
    more = [said["named"]] if _DEVICE.search(message + details) else []
    more += [said["guarded"]] if _FOR_NPUS.search(message + details) else []
    return ("" if lang == "zh" else " ").join(part for part in (unnamed(details, done=False), *more) if part)


def unnamed(text: str, *, done: bool) -> str:
    """The text with the name of the accelerator in the place of `"npu"`."""
    return text if done else _DEVICE.sub(r"\1(accelerator_type", text)


class PortableTexts(Texts):
    """The texts of a report whose port runs on NPUs and on GPUs."""

    def message(self, finding: Finding, lang: str = "en", alone: bool = True) -> str:
        text, said = super().message(finding, lang, alone), words("portable_texts", lang)
        if finding.status in ("auto", "review"):
            for name in _SAID:
                text = text.replace(said[name], said[f"{name}_said"])
        return unnamed(text, done=finding.status == "auto")

    def details(self, finding: Finding, lang: str = "en") -> str:
        message, details = super().message(finding, lang), super().details(finding, lang)
        return followed(message, details, lang, done=finding.status == "auto")
