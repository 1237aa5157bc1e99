"""The front page of the API: for each task the names to use, and the recipe that shows them."""

import tomllib
from pathlib import Path

from docs._kit.text import texts
from docs._tools.api_pages import exports

TASKS = Path(__file__).with_name("tasks.toml")


def tasks(language: str) -> str:
    """Return the list of tasks: code in a table's narrow cells would be cut."""
    words = texts(__file__, "tasks", language)
    return "\n".join(
        words["task"].format(
            want=task[language],
            use=", ".join(map(link, task["use"])),
            recipe=words["recipe"].format(anchor=task["recipe"]) if "recipe" in task else "",
        )
        for task in tomllib.loads(TASKS.read_text(encoding="utf-8"))["task"]
    )


def link(name: str) -> str:
    """Return a name, or that of a method, linked to its entry."""
    return f"[`{name}`][{exports()[name.partition('.')[0]][0]}.{name}]"


TABLES = {"tasks": tasks}
