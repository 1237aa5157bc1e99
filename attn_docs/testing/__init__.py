"""Check attention, yours or anybody's: `check_attention` and `check_module`.

module, function    what a reader calls, each with the table of its checks
adapter, report     how a module is called, and what is found
forms, links        a report as JSON, JUnit's XML and HTML, and where it leads
command, options    `python -m attn_docs.testing`; progress tells it what is being judged

*_subject           a copy that is called, in one precision and one mode
*_insight           what is known of it after looking
function_call       how a function is called: as described, or as its signature suggests
function_ways       the precision inside a function, a soft-cap, and what is no attention
checks              one property each, from an insight to a judgement
subject, insight    what the checks of both kinds see
knobs               names of options, and a copy of a module in which one has another value

structure           the search for the way of computing: sources of the projections that
                    were recorded from layers, and the formula, right or with one thing wrong
"""

from attn_docs.testing.adapter import Adapter
from attn_docs.testing.function import check_attention
from attn_docs.testing.module import check_module
from attn_docs.testing.report import ATTENTION, PROPERTIES, Finding, Report

__all__ = [
    "ATTENTION",
    "PROPERTIES",
    "Adapter",
    "Finding",
    "Report",
    "check_attention",
    "check_module",
]
