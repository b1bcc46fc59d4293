"""Writing without half-written files: to a temporary name beside the target, then renamed."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
import stat
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from lightmeter.errors import LightmeterError

#: of a name, in most file systems
_LONGEST = 255


def check_writable(path: str, option: str) -> None:
    """Refuse a path that cannot become a file, before any work is done."""
    folder, name = os.path.split(os.path.realpath(path))
    if len(os.fsencode(name)) > _LONGEST:
        raise LightmeterError(
            f"{option} {name[:40]}..: a name of {len(os.fsencode(name))} bytes. Accepted: up to {_LONGEST} bytes."
        )
    if os.path.isdir(path):
        raise LightmeterError(f"{option} {path}: this is a folder. Accepted: the name of a file.")
    if not os.path.isdir(folder):
        raise LightmeterError(f"{option} {path}: there is no folder {folder}. Create it first.")
    if not os.access(path if os.path.exists(path) and not _regular(path) else folder, os.W_OK):
        raise LightmeterError(f"{option} {path}: no permission to write there.")


def check_not_input(path: str, option: str, inputs: Iterable[str]) -> None:
    """Refuse to write over what was read, or a file that the next run would read as a part of an input.

    Parameters
    ----------
    path, option
        The file to write, and the option that names it.
    inputs
        Files that were read, and what was named: files, folders and patterns.
    """
    target = os.path.realpath(path)
    for name in inputs:
        if os.path.realpath(name) == target or (
            os.path.exists(path) and os.path.exists(name) and os.path.samefile(path, name)
        ):
            raise LightmeterError(
                f"{option} {path}: this is an input, and inputs are never written. Choose another name."
            )
        if os.path.isdir(name) and os.path.dirname(target) == os.path.realpath(name):
            raise LightmeterError(
                f"{option} {path}: a file in the folder {name} would be read as a part of the run the next time. "
                "Choose another folder."
            )
        if not os.path.exists(name) and _matches(path, name):
            raise LightmeterError(
                f"{option} {path}: this matches the pattern {name} and would be read as a part of the input the next "
                "time. Choose another name or folder."
            )


def _matches(path: str, pattern: str) -> bool:
    """Whether a pattern would find a file of this name, once it is written."""
    folder, last = os.path.split(pattern)
    if not glob.has_magic(pattern):
        return False
    for full in {os.path.abspath(path), os.path.realpath(path)}:
        name = os.path.basename(full)
        if name[0] in "._" or not fnmatch.fnmatch(name, last):
            continue  # files of such names are passed over
        folders = glob.glob(os.path.join(folder, ""), recursive=True) if glob.has_magic(folder) else [folder or "."]
        if last == "**":
            folders = glob.glob(os.path.join(pattern, ""), recursive=True)
        if any(os.path.realpath(one) == os.path.realpath(os.path.dirname(full)) for one in folders):
            return True
    return False


def write_whole(path: str, content: bytes) -> None:
    """Write a file so that it is there whole or as it was before; a device or pipe is written directly."""
    with whole_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[BinaryIO]:
    """A file to write piece by piece: there whole once all went well, else as it was before.

    It is written under a temporary name beside the target. A device or pipe is written directly.
    """
    if os.path.exists(path) and not _regular(path):
        try:
            with open(path, "wb") as direct:
                yield direct
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritten(path, error) from None
        return
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    beginning = os.path.join(folder, f".{os.fsencode(name)[:200].decode(errors='ignore')}.")
    _remove_abandoned(beginning)
    temporary = f"{beginning}{os.getpid()}.part"
    try:
        with open(temporary, "xb") as file:
            _lock(file)
            yield file
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritten(path, error) from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _remove_abandoned(beginning: str) -> None:
    """Remove what processes left that were killed while they wrote the same file."""
    for found in glob.glob(f"{glob.escape(beginning)}*.part"):
        number = found[len(beginning) : -len(".part")]
        if not (number.isascii() and number.isdigit()) or _alive(int(number)):
            continue
        with contextlib.suppress(OSError), open(found, "rb+") as file:
            if _lock(file):
                os.unlink(found)


def _alive(process: int) -> bool:
    """Whether there is a process of this number; without a way to ask, there is."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def _lock(file: BinaryIO) -> bool:
    """Hold a file while it is open, if nobody else does: a process of another machine or container may write it, which
    its number does not tell. False where files cannot be held.
    """
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _unwritten(path: str, error: OSError) -> LightmeterError:
    return LightmeterError(f"{path} cannot be written: {error.strerror or error}.")


def _regular(path: str) -> bool:
    return stat.S_ISREG(os.stat(path).st_mode)
