"""From an exception to a line on standard error and an exit code."""

import os
from collections.abc import Callable

from ctxtrim.cli.messages import print_error
from ctxtrim.config.from_environment import DEBUG
from ctxtrim.errors import CtxtrimError, OutputError, UsageError, traceback_of, unexpected
from ctxtrim.io.outputs import silence_stdout
from ctxtrim.io.signals import received, take_received, termination_raises


def exit_code_of(command: Callable[[], int], *, shows_traceback: bool = False) -> int:
    """Run a command and return its exit code. Every error is one line on standard error.

    After a signal that ends the program, the code is 128 plus the signal, as shells use it.

    With `shows_traceback` or the variable `CTXTRIM_DEBUG`, the traceback of an unexpected error
    follows.
    """
    code = _code_of(command, shows_traceback)
    signum = take_received()  # also if an import or a library replaced its exception
    return code if signum is None else 128 + signum


def _code_of(command: Callable[[], int], shows_traceback: bool) -> int:
    try:
        with termination_raises():
            return command()
    except CtxtrimError as error:
        print_error(f"ctxtrim: {error}")
        if isinstance(error, OutputError):
            silence_stdout()
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:  # temporary files are removed by now
        return 130
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        silence_stdout()
        return 0
    except Exception as error:  # noqa: BLE001 - no exception may reach a user as a traceback
        if received() is None:
            print_error(f"ctxtrim: {unexpected(error)}")
            for line in traceback_of(error) if shows_traceback or os.environ.get(DEBUG) else ():
                print_error(line)
        silence_stdout()
        return 1
    except BaseException:
        if received() is None:
            raise
        return 1  # a library replaced the exception of a signal by one of its own
