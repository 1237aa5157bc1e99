"""What mkdocs.yml says of the site in each of its languages, whichever engine builds it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml
from yaml_env_tag import construct_env_tag

from docs._tools.blocks import ROOT


@dataclass(frozen=True)
class Edition:
    """The site in one language."""

    language: str
    name: str  # of the language, in itself
    root: str  # the folder that it is published in: "" or "zh/"
    config: dict[str, Any]  # mkdocs.yml, with what this language sets in place

    @property
    def sources(self) -> list[str]:
        """Return the files of its pages in reading order, such as reading-paths/index.md."""
        return list(map(self.source, _paths(self.config["nav"])))

    def source(self, path: str) -> str:
        """Return the file of a page that the navigation names, in this language."""
        return f"{path.removesuffix('.md')}.{self.language}.md" if self.root else path


class _Loader(yaml.SafeLoader):
    """Reads `!ENV [NAME, default]` as MkDocs and Zensical do."""


_Loader.add_constructor("!ENV", construct_env_tag)


def editions() -> tuple[Edition, ...]:
    """Return the default language's edition, then the others."""
    return _read((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _read(text: str) -> tuple[Edition, ...]:
    config = yaml.load(text, _Loader)  # noqa: S506
    plugins = {name: options for plugin in config["plugins"] for name, options in _pairs(plugin)}
    return tuple(_edition(config, given) for given in plugins["i18n"]["languages"])


def _edition(config: dict[str, Any], given: dict[str, Any]) -> Edition:
    language = given["locale"]
    own = {key: given[key] for key in ("site_description", "nav") if key in given}
    theme = {**config["theme"], **given.get("theme", {}), "language": language}
    root = "" if given.get("default") else f"{language}/"
    return Edition(language, given["name"], root, {**config, **own, "theme": theme})


def _pairs(plugin: str | dict[str, Any]) -> list[tuple[str, Any]]:
    return [(plugin, {})] if isinstance(plugin, str) else list(plugin.items())


def _paths(nav: list[Any]) -> Iterator[str]:
    for item in nav:
        if isinstance(item, str):
            yield item
        else:
            for children in item.values():
                yield from _paths(children)
