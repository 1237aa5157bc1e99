"""The command's options: one for each argument of a checker that can be typed."""

import argparse
import ast
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import torch

from attn_docs.testing.function import check_attention
from attn_docs.testing.module import check_module
from attn_docs.testing.report import Report

Checker = Callable[..., Report]
CHECKERS: tuple[Checker, Checker] = (check_module, check_attention)
OWN = ("adapter", "require", "waive")  # written in ways of their own
TYPED = {bool: "BOOL", int: "INT", float: "FLOAT", str: "TEXT", Literal: "TEXT"}
TYPED |= {torch.device: "TEXT", torch.dtype: "DTYPE"}
TYPED |= dict.fromkeys((Sequence, Mapping, tuple, list, dict), "JSON")
ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.M)  # in the section of a docstring
EPILOG = """\
A value is JSON, a Python literal, or else text. Exit code: 0 passed, 1 failed, 2 not judged or
wrong use. The links of a report lead to the site at ATTN_DOCS_URL, if the environment names one.

examples:
  python -m attn_docs.testing my.layers:Attention --init '{"dim": 512, "heads": 8}' \\
      --embed-dim 512 --num-heads 8 --causal --require oracle,causality
  python -m attn_docs.testing my.layers:make_llama --embed-dim 512 --huggingface --require cache
  python -m attn_docs.testing my.kernels:flash --dtype float16 --waive 'empty rows=NaN is meant'
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m attn_docs.testing",
        usage="%(prog)s package.module:name [options]",
        description="Check an attention module or function, whoever wrote it, and say what is "
        "wrong with it and why.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_target(made)
    _add_adapter(made)
    _add_arguments(made)
    _add_verdict(made)
    _add_output(made)
    return made


def _add_target(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "target",
        metavar="package.module:name",
        help="a class, an instance, a function without arguments that returns a module, or an "
        "attention function; imported with the current directory on the path",
    )
    made.add_argument(
        "--function",
        action="store_true",
        help="the target is called as attend(query, key, value, ...), by check_attention",
    )
    made.add_argument("--init", type=value, metavar="JSON", help="keywords to build it with")
    made.add_argument(
        "--init-arg",
        action="append",
        default=[],
        type=pair,
        metavar="NAME=VALUE",
        help="one keyword to build it with; may be repeated",
    )
    made.add_argument(
        "--seed", type=int, default=0, help="of torch's random numbers while it is built (0)"
    )


def _add_adapter(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("how a module is called").add_mutually_exclusive_group()
    group.add_argument(
        "--huggingface", action="store_true", help="as transformers does: Adapter.huggingface"
    )
    group.add_argument(
        "--adapter",
        metavar="ADAPTER",
        help="fields of an Adapter as JSON, or package.module:name of an Adapter or function",
    )


def _add_arguments(made: argparse.ArgumentParser) -> None:
    """Add an option for each argument of the checkers that can be typed."""
    of_modules, of_functions = CHECKERS
    groups = {
        (of_modules,): made.add_argument_group("of modules"),
        (of_functions,): made.add_argument_group("of functions"),
        CHECKERS: made.add_argument_group("of modules and functions"),
    }
    for name, found in typed().items():
        kinds = [kind for parameter in found.values() for kind in kinds_of(parameter.annotation)]
        said = [_said(check).get(name, "") for check in found]
        text = " Of functions: ".join(dict.fromkeys(said)).replace("%", "%%")
        option: dict[str, Any] = {"default": argparse.SUPPRESS, "help": text}
        if set(kinds) == {bool}:
            option |= {"action": argparse.BooleanOptionalAction}
        else:
            metavar = "|".join(dict.fromkeys(TYPED[kind] for kind in kinds))
            option |= {"type": dtype if torch.dtype in kinds else value, "metavar": metavar}
        groups[tuple(found)].add_argument(f"--{name.replace('_', '-')}", **option)


def _add_verdict(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("what a pass takes")
    group.add_argument(
        "--require",
        action="extend",
        default=[],
        type=lambda text: [name.strip() for name in text.split(",")],
        metavar="PROPERTY,...",
        help="properties that have to be judged besides the usual ones, as oracle,cache",
    )
    group.add_argument(
        "--waive",
        action="append",
        default=[],
        type=lambda text: pair(text, read=str),
        metavar="PROPERTY=REASON",
        help="a property that may fail, and why; may be repeated",
    )


def _add_output(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("what is written")
    forms = group.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="write the report as JSON")
    forms.add_argument("--all", action="store_true", help="write all properties, passes too")
    forms.add_argument("--quiet", action="store_true", help="write nothing of a pass")
    group.add_argument("--junit", metavar="PATH", help="write JUnit's XML to a file as well")


def typed() -> dict[str, dict[Checker, inspect.Parameter]]:
    """Return the arguments that can be typed: the checkers that have each, and how."""
    found: dict[str, dict[Checker, inspect.Parameter]] = {}
    for check in CHECKERS:
        for name, parameter in inspect.signature(check).parameters.items():
            if name not in OWN and kinds_of(parameter.annotation):
                found.setdefault(name, {})[check] = parameter
    return found


def kinds_of(annotation: Any) -> list[Any]:
    """Return which of the `TYPED` kinds an annotation allows."""
    union = get_origin(annotation) in (Union, UnionType)
    kinds = get_args(annotation) if union else (annotation,)
    origins = [get_origin(kind) or kind for kind in kinds if kind is not NoneType]
    return list(dict.fromkeys(kind for kind in origins if kind in TYPED))


def _said(check: Checker) -> dict[str, str]:
    """Return what a docstring says of each argument."""
    section = (inspect.getdoc(check) or "").partition("Args:\n")[2].partition("\n\n")[0]
    return {name: " ".join(text.split()) for name, text in ARGUMENT.findall(section)}


def value(text: str) -> Any:
    """Read a value as JSON or, failing that, as a literal of Python; other text is text."""
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return read(text)
    return text


def dtype(text: str) -> Any:
    """Read the name of a type of numbers; of other text, the checker says what is wrong."""
    found = getattr(torch, text.removeprefix("torch."), None)
    return found if isinstance(found, torch.dtype) else value(text)


def pair(text: str, read: Callable[[str], Any] = value) -> tuple[str, Any]:
    """Read `name=value`."""
    name, equals, rest = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"must be name=value; got {text!r}")
    return name.strip(), read(rest.strip())
