"""The program: its commands, and how it handles errors, warnings, Ctrl-C and closed pipes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from inspect import cleandoc
from itertools import chain
from typing import Annotated, Any

import typer
from typer import Option

from suffice.cli.answer_commands import explain, impute, outliers, predict, sample
from suffice.cli.evaluate_commands import compare, cv, evaluate
from suffice.cli.label_commands import adapt, suspects
from suffice.cli.learn_commands import cluster, drop_class, fit, forget, merge, update
from suffice.cli.show_commands import demo, export, inspect, nomogram, report, sql
from suffice.cli.stream_commands import stream, watch
from suffice.cli.terminal import visible

app = typer.Typer(
    name="suffice",
    help="Train, check and understand a classifier from a terminal: one pass over the data, any file.\n\n"
    "`suffice demo` shows what it can do; `suffice COMMAND --help` shows an example of a command.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help is faster, and the same in a terminal, a pager and a file
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
COMMANDS: tuple[tuple[Callable[..., None], ...], ...] = (
    (fit, cluster, update, forget, drop_class, merge, adapt),
    (predict, explain, outliers, impute, sample),
    (stream, watch),
    (evaluate, cv, compare, suspects),
    (inspect, nomogram, sql, export, report, demo),
)
for command in chain(*COMMANDS):
    # The example at the end of a docstring keeps its lines in the help.
    text = cleandoc(command.__doc__ or "").replace("Example:\n", "\b\nExample:\n")
    app.command(command.__name__.replace("_", "-"), help=text)(command)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print("suffice", version("suffice"))
        raise typer.Exit()


@app.callback()
def _options(
    debug: Annotated[bool, Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # both are handled before
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program; the entry point of the package."""
    arguments = sys.argv[1:]
    for shown in (sys.stdout, sys.stderr):
        if hasattr(shown, "reconfigure"):
            shown.reconfigure(errors="replace")  # characters that the terminal cannot show become ?
    code = run(arguments)
    try:
        sys.stdout.flush()
    except OSError:  # it was reported already; Python would report it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run the program and return the exit code. An error is a sentence on stderr and gives 2."""
    debug = "--debug" in arguments
    arguments = [each for each in arguments if each != "--debug"] or ["--help"]
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _note
        try:
            code = app(list(arguments), prog_name="suffice", standalone_mode=False)
            sys.stdout.flush()
            if code == 130:  # how typer reports Ctrl-C
                raise KeyboardInterrupt
            return code if isinstance(code, int) else 0
        except BrokenPipeError:  # the reader of the output has stopped
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
    """Print a warning of the library as a line on stderr."""
    if issubclass(category, UserWarning):
        print(f"suffice: note: {_one_line(str(message))}", file=sys.stderr)


def _sentence(error: Exception) -> str:
    """Return an error in one line."""
    from suffice.core.errors import SufficeError

    if hasattr(error, "format_message"):  # of typer, about arguments
        return _one_line(error.format_message() or "Name a command: `suffice --help` lists them.")
    if isinstance(error, (SufficeError, ValueError)):
        return _one_line(str(error))
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return _one_line(f"{error.strerror or error}{where}")
    return _one_line(f"unexpected error, --debug shows the traceback: {type(error).__name__}: {error}")


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
