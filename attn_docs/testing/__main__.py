"""`python -m attn_docs.testing package.module:Class --embed-dim 512`."""

import io
import sys

from attn_docs.testing.command import main

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a log that cannot show √ must not end the check
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
