"""Experts that a loop takes one after the other: a wait of the host and a handful of small kernels for each."""

from __future__ import annotations

from porter.checks.performance.opportunity import FUSING, Opportunity


class ExpertLoop(Opportunity):
    code = "PRT622"
    socs = FUSING
    offers = "torch_npu.npu_grouped_matmul"
    patterns = {"experts"}
