"""One row for each finding. The first six columns are those of the vendor's analysis tool, put together."""

from __future__ import annotations

import csv
import io

from porter.files.documents import Json
from porter.report.sanitise import shown

COLUMNS = (
    "File", "Start Line", "End Line", "OP", "Operation Type", "Message", "Tips", "Code", "Severity", "Status", "Effort",
    "Column", "Suppressed", "Baseline", "Fingerprint", "Least Minutes", "Most Minutes",
)  # fmt: skip
NAMES = ("name", "old", "api", "variable", "option", "value")  # which of a message's values is what was found


def render(document: Json) -> str:
    stream = io.StringIO()
    stream.write("\ufeff")  # spreadsheets take the file for something else than UTF-8 without it
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    titles = {rule["code"]: rule["title"][document["language"]] for rule in document["rules"]}
    for f in document["findings"]:
        name = next((f["values"][key] for key in NAMES if key in f["values"]), f["slug"])
        tips = " ".join(f["symptom"].split()) or titles[f["code"]]
        message = " ".join(filter(None, (f["message"], f.get("details"))))
        hidden = "-" if f["suppressed"] == "" else f["suppressed"] or ""
        row = (
            f["path"], f["line"], max(f["end_line"], f["line"]), name, _operation(f), message, tips, f["code"],
            f["severity"], f["status"], f["effort"], f["column"], hidden, "yes" if f["baseline"] else "", f["fingerprint"],
            *f.get("minutes", ("", "")),
        )  # fmt: skip
        writer.writerow(map(cell, row))
    return stream.getvalue()


def _operation(f: Json) -> str:
    """What porter would do, in the words of the vendor's tool."""
    if not f["edit"]:
        return "UNSUPPORTED" if f["status"] == "manual" else "MODIFY"
    if all((e["line"], e["column"]) == (e["end_line"], e["end_column"]) for e in f["edit"]):
        return "INSERT"
    return "MODIFY" if any(e["text"] for e in f["edit"]) else "DELETE"


def cell(value: object) -> object:
    """A spreadsheet runs what starts like a formula."""
    if not isinstance(value, str):
        return value
    text = shown(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) and text != "-" else text
