"""From arguments to an exit code: what every command has in common.

A command line is read into a request (``parsing.py``, by the table in ``options.py``), and the command's module runs
it. What goes wrong is reported here: 0 done, 1 a defect, 2 the user's input is wrong, 3 a ``--fail-if`` holds, 130
interrupted, 143 terminated. A closed pipe ends quietly.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from lightmeter.cli.console import leave_pipes, say
from lightmeter.errors import LightmeterError

DONE, DEFECT, WRONG_INPUT, CONDITION_HOLDS, INTERRUPTED = 0, 1, 2, 3, 130
_LESS = "Ask for fewer --samples or --resamples, a smaller --depth, or give fewer runs at once."
#: characters of an argument that a message repeats in full
_LONG = 250
#: commands whose first arguments are runs
_READING = ("evaluate", "compare")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        Those after the program's name; by default the process's own, and the process then ends here.

    Returns
    -------
    int
        The exit code.
    """
    if arguments is None:
        # NumPy reads these when it is imported. Large arrays are touched once here, so asking for huge pages costs more
        # time than it saves; and blocks have threads of their own, beside which those of BLAS only spin.
        os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # Arrow's own pool takes huge pages from the system, which may first have to be put together
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        for name in ("SIGTERM", "SIGHUP"):  # whoever ignores them, as nohup does, is left alone
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _terminated)
        gc.disable()  # the process is short, and what it makes is arrays: there are no cycles worth looking for
        _end(_code(sys.argv[1:]))
    return _code(list(arguments))


def _end(code: int) -> NoReturn:
    """End the process without freeing its memory piece by piece, which takes a tenth of a second after a large run."""
    atexit._run_exitfuncs()
    leave_pipes()
    os._exit(code)


class _Terminated(KeyboardInterrupt):
    """Another program asks this one to end: half-written files are removed, as after Ctrl-C."""


def _terminated(number: int, _frame: Any) -> NoReturn:
    raise _Terminated(number)


def _code(given: list[str]) -> int:
    """Run a command line, and report what goes wrong."""
    code = DONE
    try:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]
            code = _run(given)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        leave_pipes()
    except _Terminated as ended:
        return 128 + int(ended.args[0])
    except KeyboardInterrupt:
        return INTERRUPTED
    except LightmeterError as error:
        return _wrong(shortened(str(error), given), error)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _wrong(shortened(f"{place}{error.strerror or error}.", given), error)
    except MemoryError as error:
        return _wrong(f"there is not enough memory ({str(error) or 'none left'}). {_LESS}", error)
    except (Exception, SystemExit) as error:
        return _defect(error)
    return code


def _run(arguments: list[str]) -> int:
    """Do what a command line asks for; the exit code."""
    for text in arguments:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise LightmeterError(
                f"the argument {text!r} is not valid UTF-8. Rename the file, or give it in another way."
            ) from None
    from lightmeter.io.arrow import read_ahead

    # the first run is read while the command line, and then lightmeter, is being imported
    reads = len(arguments) > 1 and arguments[0] in _READING
    reading = read_ahead(arguments[1]) if reads else None
    from lightmeter.cli.options import ABOUT, COMMANDS
    from lightmeter.cli.parsing import parse

    request = parse(arguments, COMMANDS, ABOUT)
    if request is None:
        return DONE
    request.reading = read_ahead(request.runs[0]) if reads and reading is None else reading
    return int(import_module(f"lightmeter.cli.{request.command}").run(request))


def shortened(text: str, arguments: Iterable[str]) -> str:
    """A message without the middle of arguments that are too long to read, whole or in part.

    Examples
    --------
    >>> shortened("there is no " + 300 * "x", [300 * "x"]) == "there is no " + 80 * "x" + ".." + 20 * "x"
    True
    """
    for argument in arguments:
        for word in (argument, *re.split(r"[=@(),\s]+", argument)):
            if len(word) > _LONG:
                text = text.replace(word, f"{word[:80]}..{word[-20:]}")
    return text


def _wrong(text: str, error: Exception) -> int:
    if os.environ.get("LIGHTMETER_DEBUG"):
        traceback.print_exception(error)
    return _report(f"error: {text}", WRONG_INPUT)


def _defect(error: BaseException) -> int:
    if os.environ.get("LIGHTMETER_DEBUG"):
        traceback.print_exception(error)
        return DEFECT
    from lightmeter.terms.plugins import plugin_at_fault

    what, plugin = f"{type(error).__name__}: {error}".rstrip("."), plugin_at_fault(error)
    where, fault = (f" in {plugin}", "the plugin") if plugin is not None else ("", "lightmeter")
    return _report(
        f"defect{where}: {what}. This is a fault of {fault}, not of your input. "
        "Set LIGHTMETER_DEBUG=1 to see where it happened.",
        DEFECT,
    )


def _report(text: str, code: int) -> int:
    say(text)
    leave_pipes()
    return code


def _warn(message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: object) -> None:
    say(f"warning: {message}")
