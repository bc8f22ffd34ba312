"""Examples of commands and stages, for help pages. A test runs each."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": (
        "ctxtrim count session.jsonl",
        "ctxtrim trim --budget 30k session.jsonl -o trimmed.jsonl",
        "ctxtrim check -m gpt-4o logs/",
    ),
    "count": (
        "ctxtrim count session.jsonl",
        "ctxtrim count -m gpt-4o --json logs/",
        "cat session.jsonl | ctxtrim count --largest 10",
    ),
    "truncate": (
        "ctxtrim truncate --max-age 3 session.jsonl -o short.jsonl --archive originals",
        "ctxtrim truncate --max-tokens 1k --keep-tools 'read.*' --dry-run session.jsonl",
        "ctxtrim truncate < session.jsonl | ctxtrim trim -b 80% > small.jsonl",
    ),
    "trim": (
        "ctxtrim trim --budget 30k session.jsonl -o trimmed.jsonl --archive originals",
        "ctxtrim trim -m gpt-4o --keep-recent-turns 2 --dry-run session.jsonl",
        "ctxtrim trim -b 80% --explain --dry-run logs/",
    ),
    "summarize": (
        "ctxtrim summarize --keep-recent-turns 2 session.jsonl -o short.jsonl",
        "ctxtrim summarize --summary-tokens 500 --dry-run session.jsonl",
    ),
    "convert": (
        "ctxtrim convert --to anthropic session.jsonl -o request.jsonl",
        "ctxtrim convert --to openai-chat -m gpt-4o --dry-run session.jsonl",
    ),
    "check": (
        "ctxtrim check -m gpt-4o session.jsonl",
        "ctxtrim check -b 80% --report report.json logs/",
        "ctxtrim trim -b 30k < session.jsonl | ctxtrim check -b 30k --profile openai",
    ),
    "run": (
        "ctxtrim run -s truncate:max-age=5 -s trim -b 30k session.jsonl -o out.jsonl",
        "ctxtrim run --preset rolling,budget -m gpt-4o --dry-run session.jsonl",
    ),
    "trace": (
        "ctxtrim trace list --archive originals",
        "ctxtrim trace verify --archive originals",
    ),
    "trace get": ("ctxtrim trace get --archive originals call_1",),
    "trace list": ("ctxtrim trace list --archive originals",),
    "trace verify": ("ctxtrim trace verify --archive originals",),
    "restore": (
        "ctxtrim restore edited.jsonl --in-place",
        "ctxtrim restore trimmed.jsonl --archive originals -o session-again.jsonl",
        "ctxtrim restore trimmed.jsonl --archive originals | diff - session.jsonl",
    ),
    "sessions": (
        "ctxtrim sessions",
        "ctxtrim count --latest",
    ),
    "archive": (
        "ctxtrim archive list",
        "ctxtrim archive prune --older-than 30d",
    ),
    "archive list": ("ctxtrim archive list",),
    "archive prune": ("ctxtrim archive prune --older-than 30d",),
    "models": (
        "ctxtrim models gpt-5",
        "ctxtrim models --json claude",
    ),
    "config": (
        "ctxtrim config show",
        "ctxtrim config init",
    ),
    "config show": (
        "ctxtrim config show",
        "ctxtrim config show --preset rolling --json",
    ),
    "config init": (
        "ctxtrim config init --force",
        "ctxtrim config init settings.toml",
    ),
    "config schema": ("ctxtrim config schema > ctxtrim.schema.json",),
    "rolling-context": (
        "ctxtrim rolling-context status",
        "ctxtrim rolling-context off",
    ),
    "help": (
        "ctxtrim help run",
        "ctxtrim help cutoff",
    ),
    "cutoff": ("ctxtrim run -s cutoff:tool-cutoff=3 --dry-run session.jsonl",),
    "compact": ("ctxtrim run -s compact -m gpt-4o --dry-run session.jsonl",),
    "drop-images": ("ctxtrim run -s drop-images:max-age=2 --dry-run session.jsonl",),
    "repair": ("ctxtrim run -s repair:repair=synthesize session.jsonl -o repaired.jsonl",),
}
"""The examples by the words after `ctxtrim`, or by the name of a stage."""
