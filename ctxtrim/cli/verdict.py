"""From what a command raises to its exit code: the one place for commands that do not run stages."""

from collections.abc import Callable

from ctxtrim.cli.terminal import say
from ctxtrim.errors import CtxtrimError, OutputError, UsageError
from ctxtrim.io.outputs import silence_stdout


def concluded(command: Callable[[], int]) -> int:
    """Run a command and return its exit code; every trouble is one line on standard error."""
    try:
        return command()
    except CtxtrimError as error:
        say(f"ctxtrim: {error}")
        if isinstance(error, OutputError):
            silence_stdout()
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        silence_stdout()
        return 0
