"""The command line: find what is to be checked, check it, say what was found."""

import argparse
import importlib
import inspect
import json
import operator
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attn_docs.testing.adapter import Adapter
from attn_docs.testing.forms import as_junit
from attn_docs.testing.function import check_attention
from attn_docs.testing.module import check_module
from attn_docs.testing.options import parser, typed
from attn_docs.testing.progress import shown
from attn_docs.testing.report import Outcome, Report

CODES: dict[Outcome, int] = {"passed": 0, "failed": 1, "not judged": 2}
WRONG_USE = 2


class UseError(Exception):
    """The command was used wrongly; the message is one line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    told = parser().parse_args(arguments)
    try:
        with redirect_stdout(sys.stderr):  # what the target prints is no part of the report
            report = checked(told)
        if told.junit is not None:
            _write(told.junit, as_junit(report))
    except UseError as error:
        message = " ".join(f"{error}".split())
        sys.stderr.write(f"python -m attn_docs.testing: error: {message}\n")
        return WRONG_USE
    # an error of the checker, or a target that ends the process: neither is a verdict
    except (Exception, SystemExit):
        traceback.print_exc()
        return WRONG_USE
    sys.stdout.write(_written(report, told))
    return CODES[report.verdict]


def _written(report: Report, told: argparse.Namespace) -> str:
    """Return what is said of a report."""
    if told.json:
        return json.dumps(report.to_dict(), indent=2) + "\n"
    if told.quiet and report.passed:
        return ""
    table = report if told.all else report.table("fail", "waived", "not judged")
    return f"{table}\nchecked in {report.seconds:.1f} s\n"


def checked(told: argparse.Namespace) -> Report:
    """Return the report on the target."""
    torch.manual_seed(told.seed)
    subject = _built(told)
    is_module = isinstance(subject, nn.Module) and not told.function
    check: Callable[..., Report] = check_module if is_module else check_attention
    options = _options(check, told)
    adapter = _adapter(told, subject, is_module=is_module)
    if adapter is not None:
        options["adapter"] = adapter
    try:
        with shown(sys.stderr):
            return check(subject, **options)
    except (TypeError, ValueError) as error:
        if getattr(error, "__notes__", None):  # of the checker, which says so
            raise
        raise UseError(f"{error}") from error


def _imported(target: str) -> Any:
    """Return what `package.module:name` stands for."""
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise UseError(f"a target must be package.module:name; got {target!r}")
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except (Exception, SystemExit) as error:  # a script that ends the process has not passed
        raise UseError(f"cannot import {target}: {_said(error)}") from error


def _built(told: argparse.Namespace) -> Any:
    """Return the module or function: the target itself, or what it makes."""
    target, keywords = _imported(told.target), _keywords(told)
    if not callable(target):
        raise UseError(f"{told.target} must be a class, a module or a function; got {target!r}")
    if not _is_maker(target, keywords, as_function=told.function):
        if keywords:
            raise UseError(f"{told.target} is not built, and takes no --init; got {keywords}")
        return target
    try:
        made = target(**keywords)
    except (Exception, SystemExit) as error:
        given = ", ".join(keywords) or "no arguments; --init gives it some"
        raise UseError(f"cannot build {told.target} with {given}: {_said(error)}") from error
    if not isinstance(made, nn.Module) and not (isinstance(target, type) and callable(made)):
        raise UseError(f"{told.target} must return a torch.nn.Module; got {type(made).__name__}")
    return made


def _is_maker(
    target: Callable[..., Any], keywords: Mapping[str, Any], *, as_function: bool
) -> bool:
    """Tell whether the target makes what is checked, rather than being it."""
    if isinstance(target, type):
        return True
    if isinstance(target, nn.Module) or as_function:
        return False
    return bool(keywords) or _takes_nothing(target)


def _takes_nothing(target: Callable[..., Any]) -> bool:
    """Tell whether it needs no arguments: attention needs a query, a key and a value."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:  # written in C
        return False
    return all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters)


def _keywords(told: argparse.Namespace) -> dict[str, Any]:
    """Return what the target is built with."""
    keywords = {} if told.init is None else told.init
    if not isinstance(keywords, dict) or not all(isinstance(name, str) for name in keywords):
        raise UseError(f"--init must be a JSON object; got {keywords!r}")
    return keywords | dict(told.init_arg)


def _options(check: Callable[..., Report], told: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that were given, if the checker has them and none is missing."""
    given: dict[str, Any] = {"require": told.require, "waive": dict(told.waive)}
    for name, found in typed().items():
        option, name_of_check = f"--{name.replace('_', '-')}", getattr(check, "__name__", "")
        if name in told and check not in found:
            raise UseError(f"{option} is no argument of {name_of_check}")
        if name in told:
            given[name] = getattr(told, name)
        elif check in found and found[check].default is inspect.Parameter.empty:
            raise UseError(f"{option} is needed by {name_of_check}")
    return given


def _adapter(told: argparse.Namespace, subject: Any, *, is_module: bool) -> Any:
    """Return the adapter that was described; None if none was."""
    if not (told.huggingface or told.adapter):
        return None
    if not is_module:
        raise UseError("an adapter is for modules; the target is a function")
    try:
        if told.huggingface:
            return Adapter.huggingface(subject)
        if told.adapter.lstrip().startswith("{"):
            return Adapter(**json.loads(told.adapter))
    except (TypeError, ValueError) as error:
        raise UseError(f"{error}") from error
    return _imported(told.adapter)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _write(path: str, content: bytes) -> None:
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise UseError(f"cannot write {path}: {error.strerror}") from error
