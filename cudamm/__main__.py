"""Start the command line: `cudamm`, or `python -m cudamm`."""

from __future__ import annotations

import signal
from typing import NoReturn


def start() -> NoReturn:
    """Run the command line. Ctrl-C during the imports ends the process at once, without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # `main` sets its own handler
    from cudamm.cli import main

    main()


if __name__ == "__main__":
    start()
