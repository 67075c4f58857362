"""The program: its commands, and what becomes of errors, warnings, Ctrl-C and pipes that close."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from suffice.cli import answer_commands, evaluate_commands, learn_commands, show_commands

app = typer.Typer(
    name="suffice",
    help="Train, check and understand a classifier from a terminal: one pass over the data, any file.\n\n"
    "`suffice demo` shows what it can do; `suffice COMMAND --help` has an example of each command.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: at once, and the same in a terminal, a pager and a file
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for commands in (learn_commands, answer_commands, evaluate_commands, show_commands):
    commands.add_to(app)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print("suffice", version("suffice"))
        raise typer.Exit()


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # both are dealt with before
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """The program's entry point."""
    arguments = sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows few characters shows the others as ?
    code = run(arguments)
    try:
        sys.stdout.flush()
    except OSError:  # it has been told of; Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run the program; the exit code. Errors are a sentence on stderr and give 2."""
    debug = "--debug" in arguments
    arguments = [each for each in arguments if each != "--debug"] or ["--help"]
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _note
        try:
            code = app(list(arguments), prog_name="suffice", standalone_mode=False)
            sys.stdout.flush()
            if code == 130:  # typer's way to tell of Ctrl-C
                raise KeyboardInterrupt
            return code if isinstance(code, int) else 0
        except BrokenPipeError:  # whoever reads has seen enough
            return 1
        except (KeyboardInterrupt, typer.Abort):
            print("suffice: stopped", file=sys.stderr)
            return 130
        except Exception as error:
            if debug:
                raise
            print(f"suffice: {_sentence(error)}", file=sys.stderr)
            return 2


def _note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """A warning of the library, as a line on stderr."""
    if issubclass(category, UserWarning):
        print(f"suffice: note: {_one_line(str(message))}", file=sys.stderr)


def _sentence(error: Exception) -> str:
    """An error in one line."""
    from suffice.core.errors import SufficeError

    if hasattr(error, "format_message"):  # what typer has to say of arguments
        return _one_line(error.format_message() or "What should it do? `suffice --help` lists the commands.")
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return _one_line(f"{error.strerror or error}{where}")
    if isinstance(error, (SufficeError, ValueError)):
        return _one_line(str(error))
    return _one_line(f"this should not happen, --debug shows where it did: {type(error).__name__}: {error}")


def _one_line(text: str) -> str:
    from suffice.cli.terminal import visible

    return visible(" ".join(text.split()))
