"""The command line: `suffice`, or `python -m suffice`.

Each file here holds a group of commands. What they need beyond reading arguments is imported when a command runs, so
that help comes at once.
"""

from suffice.cli.program import main, run

__all__ = ["main", "run"]
