"""The command line: `suffice`, or `python -m suffice`.

Each module of commands holds a group of them. What a command needs besides its arguments is imported when it runs, so
that help starts fast.
"""

from suffice.cli.program import main, run

__all__ = ["main", "run"]
