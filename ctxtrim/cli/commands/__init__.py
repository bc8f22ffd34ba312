"""The commands, one module each. A command's module is imported when the command runs."""

COMMANDS = {
    "count": "Count tokens and show where they are.",
    "truncate": "Shorten tool results that are too old or too long.",
    "trim": "Drop the least important messages until the transcript fits the budget.",
    "summarize": "Replace old messages by one summary.",
    "convert": "Convert transcripts to requests for another provider.",
    "check": "Check that transcripts fit the budget and that every call has its result.",
    "run": "Run several stages in one pass.",
    "trace": "Get, list or verify original tool results in an archive.",
    "restore": "Restore the input of a run, byte for byte, from its output.",
    "sessions": "List the sessions of agent programs on this machine.",
    "archive": "List or remove the runs that can be undone.",
    "models": "Show the window, limits and tokenizer of a model.",
    "config": "Show every setting and its origin, or write a configuration file.",
    "rolling-context": "Turn the automatic pipeline of run on or off.",
    "help": "Explain a command or stage with all of its options.",
}
"""What each command does."""
