"""Parts of the forms that a script brings to life; each form's names begin with its own word."""

import html
from collections.abc import Mapping

escape = html.escape


def start(name: str, label: str, words: Mapping[str, str]) -> str:
    """Open a form; `words` are what its script says, read from its dataset."""
    data = "".join(f' data-{word}="{escape(text)}"' for word, text in words.items())
    return (
        f'<form class="explorer {name}" aria-label="{escape(label)}" autocomplete="off" '
        f"data-search-exclude{data}>"
    )


def label(form: str, name: str, text: str) -> str:
    """Name a field."""
    return f'<label for="{form}-{name}">{text}</label>'


def select(form: str, name: str, options: Mapping[str, str], value: str, more: str = "") -> str:
    """Offer a choice; `options` maps each value to what is shown."""
    shown = "".join(
        f'<option value="{option}"{" selected" * (option == value)}>{text}</option>'
        for option, text in options.items()
    )
    return f'<select id="{form}-{name}" name="{name}"{more}>{shown}</select>'


def tick(form: str, name: str, text: str, *, ticked: bool) -> str:
    """Offer a yes or no, with its text around it, so that both can be tapped."""
    return (
        f'<label><input id="{form}-{name}" name="{name}" type="checkbox"'
        f"{' checked' * ticked}> {text}</label>"
    )


def slider(
    form: str, name: str, limits: tuple[float, float, float], value: float, shown: str
) -> str:
    """Offer a number between two limits, in steps, with what it stands for beside it."""
    least, most, step = limits
    return (
        f'<span><input id="{form}-{name}" name="{name}" type="range" min="{least}" max="{most}" '
        f'step="{step}" value="{value}" aria-valuetext="{shown}"> '
        f'<b data-of="{name}">{shown}</b></span>'
    )
