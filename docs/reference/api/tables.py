"""The front page of the API: for each task the names to use, and the recipe that shows them."""

import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from docs._kit.text import texts
from docs._tools.api_pages import exports

TASKS = Path(__file__).with_name("tasks.toml")
PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def tasks(language: str) -> str:
    """Return the tasks, a list for each group: code in a table's narrow cells would be cut."""
    words = texts(__file__, "tasks", language)
    groups = tomllib.loads(TASKS.read_text(encoding="utf-8"))["group"]
    return "\n\n".join(
        "\n".join(
            [words["group"].format(name=group[language]), ""]
            + [row(task, words, language) for task in group["task"]]
        )
        for group in groups
    )


def row(task: dict[str, Any], words: dict[str, str], language: str) -> str:
    """Return a task with its names and what shows them."""
    use = words["comma"].join(link(name, words) for name in task["use"])
    return words["task"].format(want=task[language], use=use, recipe=shown(task, words))


def shown(task: dict[str, Any], words: dict[str, str]) -> str:
    """Return the link to what shows a task: a recipe, or the place in a chapter."""
    if "recipe" in task:
        return words["recipe"].format(anchor=task["recipe"])
    return words["chapter"].format(address=task["chapter"])


def link(name: str, words: dict[str, str]) -> str:
    """Return a name, or that of a method, linked to its entry; one of a module says so."""
    if name.startswith("attn_docs."):
        return f"[`{name.rpartition('.')[2]}`][{name}]{words['module']}"
    return f"[`{name}`][{exports()[name.partition('.')[0]][0]}.{name}]"


TABLES = {"tasks": tasks}


def numbers() -> dict[str, str]:
    """Return what the package needs, from its own description, and what it is tested with."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    needs = dict(need.split(">=") for need in project["dependencies"] if ">=" in need)
    return {
        "python": project["requires-python"].removeprefix(">="),
        "torch": needs["torch"],
        "tested": torch.__version__.partition("+")[0],
        "transformers": ".".join(version("transformers").split(".")[:2]),
    }
