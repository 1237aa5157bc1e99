"""A page's form: `explorer.html`, beside the page and the script that brings the form to life.

The file is a Jinja template. The page's `tables.py` fills it in: the words come from `text.toml`,
what the form shows at first from the package. Words are escaped; where they are HTML the template
says `| safe`.

In `data-fallback` the form names what shows the same facts to a reader without JavaScript: one of
the names in a figure's `aria-labelledby`, or the id of the heading above a table.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def fill(module: str, **values: object) -> str:
    """Return the form beside a module, with every placeholder filled in.

    Args:
        module: `__file__` of the module that asks: `explorer.html` lies beside it.
        values: What the template names.

    Raises:
        jinja2.UndefinedError: If the template names something else.
    """
    beside = FileSystemLoader(Path(module).parent)
    templates = Environment(
        loader=beside, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return templates.get_template("explorer.html").render(values)
