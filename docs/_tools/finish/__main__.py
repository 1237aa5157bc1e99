"""Finish a site that an engine has built: `python -m docs._tools.finish site`."""

import sys
from pathlib import Path

from docs._tools.editions import editions
from docs._tools.finish import finish

if len(sys.argv) != 2:
    sys.exit("usage: python -m docs._tools.finish <the folder of a built site>")
try:
    finish(Path(sys.argv[1]), editions()[0].config["site_url"] or "")
except ValueError as error:
    sys.exit(str(error))
