"""Everything that can go wrong, as one tree.

::

    CtxtrimError            one line for the user: what, where, and what to do
    ├── UsageError          the question makes no sense (exit 2)
    ├── InputError          a file cannot be read, or is not what it should be (exit 1)
    ├── OutputError         something cannot be written (exit 1)
    ├── ArchiveError        an original cannot be stored, found or trusted (exit 1)
    ├── TokenizerError      a tokenizer is not available (exit 1)
    ├── SummaryError        a summarizer has no answer; facts take its place
    └── SelfCheckError      what was written does not read back as what was meant: a bug here (exit 1)

That a transcript does not fit, or breaks a rule, is no error: it is a `Finding`.
"""

BUG = "this is a bug in ctxtrim: please report it with the command you ran"
"""What is said with an error that no input should bring about."""


class CtxtrimError(Exception):
    """Something the user has to know; its text is the whole message."""


class UsageError(CtxtrimError):
    """The options contradict each other or have no such value."""


class InputError(CtxtrimError):
    """A file cannot be read, or is not what it should be."""


class OutputError(CtxtrimError):
    """A file cannot be written."""


class ArchiveError(CtxtrimError):
    """An original cannot be stored, found or trusted."""


class TokenizerError(CtxtrimError):
    """A tokenizer that was asked for is not available."""


class SummaryError(CtxtrimError):
    """A summarizer cannot be reached, or has no answer that can be used."""


class SelfCheckError(CtxtrimError):
    """An edited transcript does not read back as what was meant."""


def reason(error: OSError) -> str:
    """Why the system refused, in its own words."""
    return (error.strerror or str(error)).lower()
