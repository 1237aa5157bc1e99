"""A page's form: `explorer.html`, which lies beside the page and the script that brings it to life.

The file is a Jinja template. Where and how the page's code fills it in stands in its `tables.py`:
the words come from `text.toml`, what the form shows at first from the package. Words are escaped;
those that hold HTML are marked `| safe` in the template.

The form names what shows the same facts to a reader without JavaScript, in `data-fallback`: the
name of a figure, a part of its `aria-labelledby`, or the id of the heading above a table.
"""

from pathlib import Path

from jinja2 import Environment, StrictUndefined

_TEMPLATES = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)


def fill(module: str, **values: object) -> str:
    """Return the form that lies beside a module, its placeholders filled in.

    Args:
        module: `__file__` of the module that asks: `explorer.html` lies beside it.
        values: What the template names.
    """
    template = Path(module).with_name("explorer.html").read_text(encoding="utf-8")
    return _TEMPLATES.from_string(template).render(values)
