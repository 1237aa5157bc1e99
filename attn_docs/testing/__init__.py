"""Check attention, yours or anybody's: `check_attention` and `check_module`."""

from attn_docs.testing.adapter import Adapter
from attn_docs.testing.function import check_attention
from attn_docs.testing.module import check_module
from attn_docs.testing.report import PROPERTIES, Finding, Report

__all__ = ["PROPERTIES", "Adapter", "Finding", "Report", "check_attention", "check_module"]
