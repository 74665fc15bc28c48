"""Runs a program under Landlock. Started as a file of its own: `python -I -S landlock_exec.py POLICY -- argv…`.

POLICY is JSON: `{"write": [folders], "network": bool}`. Nothing of Weft is imported: this runs before every command.
Reading and executing stay free; writing is kept to the folders; TCP is refused unless `network` (kernel 6.7 or later).
"""

import ctypes
import json
import os
import sys

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_WRITE_FILE, _TRUNCATE, _REFER = 1 << 1, 1 << 14, 1 << 13
_ONLY_FOLDERS = sum(1 << bit for bit in (4, 5, 6, 7, 8, 9, 10, 11, 12))
_TCP = (1 << 0) | (1 << 1)


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64)]


class _Path(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def abi() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, 1)))


def restrict(writable: list[str], network: bool) -> None:
    """
    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = abi()
    handled = _WRITE_FILE | _ONLY_FOLDERS | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    rules = _Ruleset(handled, _TCP if version >= 4 and not network else 0)
    fd = _check(libc.syscall(_CREATE, ctypes.byref(rules), 16 if version >= 4 else 8, 0))
    for path in writable:
        try:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        access = handled if os.path.isdir(path) else handled & (_WRITE_FILE | _TRUNCATE)
        rule = _Path(access, parent)
        _check(libc.syscall(_ADD, fd, 1, ctypes.byref(rule), 0))
        os.close(parent)
    _check(libc.prctl(38, 1, 0, 0, 0))
    _check(libc.syscall(_RESTRICT, fd, 0))
    os.close(fd)


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def main(arguments: list[str]) -> None:
    policy = json.loads(arguments[0])
    argv = arguments[2:]
    try:
        restrict(policy["write"], policy["network"])
    except OSError as error:
        sys.stderr.write(f"weft: the sandbox cannot be set up: {error}\n")
        raise SystemExit(125) from None
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"weft: {argv[0]}: {error.strerror}\n")
        raise SystemExit(127) from None


if __name__ == "__main__":
    main(sys.argv[1:])
