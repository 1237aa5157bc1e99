"""A program: build the site of this folder after each change, as it is served and as it is new.

`served/` is what one process builds again and again, as `mkdocs serve` does. `fresh/` is built by a
process that has built nothing before, and keeps nothing. For each line that is read, a line of JSON
tells what each of the two said, and what the first made that it had not kept.
"""

import json
import logging
import multiprocessing
import sys
from multiprocessing.connection import Connection

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

HOOK = "docs/_tools/rebuild.py"
URL = "http://127.0.0.1:8000/"


class Heard(logging.Handler):
    """Remembers warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def built(folder: str) -> list[str]:
    """Build the site; return the warnings and errors."""
    config, heard = load_config("mkdocs.yml", site_dir=folder, site_url=URL), Heard()
    logging.getLogger("mkdocs").addHandler(heard)
    try:
        build(config, serve_url=URL)
    except Abort as error:
        heard.messages.append(str(error))
    finally:
        logging.getLogger("mkdocs").removeHandler(heard)
    return heard.messages


def serve(pipe: Connection) -> None:
    """Build as often as asked to."""
    load_config("mkdocs.yml").plugins.on_startup(command="serve", dirty=False)
    before: dict[tuple[str, str], object] = {}
    while pipe.recv():
        said, now = built("served"), dict(sys.modules[HOOK].kept)
        made = sorted(" ".join(what) for what in now if before.get(what) is not now[what])
        pipe.send((said, made))
        before = now


def renew(pipe: Connection) -> None:
    """Build once."""
    load_config("mkdocs.yml").plugins.on_startup(command="serve", dirty=False)
    sys.modules[HOOK].code.clear()
    pipe.send(built("fresh"))


def started(work) -> Connection:
    """Start what has built nothing yet; return the connection to it."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    fork.Process(target=work, args=(theirs,), daemon=True).start()
    theirs.close()  # when its process ends, reading from ours does not wait
    return ours


if __name__ == "__main__":
    sys.argv.append("serve")
    logging.getLogger("mkdocs").setLevel(logging.INFO)
    server = started(serve)
    for _ in sys.stdin:
        server.send(True)
        fresh = started(renew).recv()
        served, made = server.recv()
        print(json.dumps({"served": served, "fresh": fresh, "made": made}), flush=True)  # noqa: T201
