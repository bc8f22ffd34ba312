"""Makes ctxtrim/tokens/registry.json: limits, tokenizer, framing, tool prompt and image policy of
each model.

    pip download litellm --no-deps --dest wheels
    python scripts/registry.py wheels/litellm-*.whl --date 2026-11-17

The sources are the vendors' own entries in the model list inside litellm's wheel (MIT), and the
manual `overrides.json`. If they disagree, the smaller limit applies. `hosts` has the limits of
other hosts in that list that are smaller than the vendor's. `--date` is the release date of the
wheel. The same wheel and overrides make the same bytes.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

HERE = Path(__file__).parent
TARGET = HERE.parent / "ctxtrim" / "tokens" / "registry.json"
LIST = "litellm/model_prices_and_context_window_backup.json"

# litellm's name of a provider, our name of the vendor whose own models it lists
PROVIDERS = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "gemini": "Google",
    "vertex_ai-language-models": "Google",
    "mistral": "Mistral",
    "deepseek": "DeepSeek",
    "xai": "xAI",
    "meta": "Meta",
    "dashscope": "Qwen",
    "qwencloud": "Qwen",
    "cohere_chat": "Cohere",
    "moonshot": "Moonshot",
    "zai": "Zhipu",
    "minimax": "MiniMax",
    "ai21": "AI21",
    "amazon_nova": "Amazon",
    "volcengine": "ByteDance",
}
ORDER = tuple(dict.fromkeys([*PROVIDERS.values(), "Microsoft"]))
MODES = ("chat", "responses", "realtime")
# Excluded: models without written conversations, and models of other vendors that a vendor hosts.
# Speech models whose names begin like a chat model's are included: otherwise their names would
# resolve to that chat model.
SKIPPED = re.compile(
    r"^ft:|container|-tts|lyria|translate|learnlm|medlm|gemini-exp|^sam-|gemini-gemma|grok.*(beta|gv2)|vibe-cli|code-fim"
    r"|^gpt-realtime|^gemini-(live|omni)|^gemini-3.*-live|streaming"
)
FOREIGN = {
    "Mistral": re.compile("glm|deepseek"),
    "Qwen": re.compile("^(?!q)"),
    "ByteDance": re.compile("^(?!doubao)"),
}
DATED = re.compile(r"(?:-latest|-\d{4}-\d\d-\d\d|-\d\d-\d{4}|-\d{8}|-\d{6}|-\d{4}|@\d+|-v1)$")

# without -latest they mean something else, or nothing
ALIAS = re.compile(r"(chat|gemini-(pro|flash|flash-lite))-latest$")

COLUMNS = (
    "name", "provider", "context_window", "max_input", "max_output", "tokenizer", "framing",
    "tool_prompt", "image_policy", "source",
)  # fmt: skip

# The first expression that matches the start of a name decides the tokenizer; unpublished
# tokenizers are unknown.
TOKENIZERS = (
    ("gpt-3.5|gpt-4(?![.o])", "cl100k_base"),
    ("gpt-4o.*(audio|realtime|transcribe)|gpt-5.6-cyber", "unknown"),
    ("chatgpt-4o|gpt-4|gpt-5|gpt-oss|o[134](-|$)|codex-mini", "o200k_base"),
    ("claude-(v?2|instant)", "unknown"),
    ("claude-3|claude-[a-z]+-4(?!-[789])", "claude-v3"),
    ("claude-[a-z]+-4-7|claude-mythos-preview", "claude-v4.7"),
    ("claude", "claude-v4.8"),
    ("", "unknown"),
)
# The API's own counts verified the frame of plain messages for the chat models of "openai" alone.
FRAMINGS = (
    ("gpt-3.5-turbo-0301", "openai-0301"),
    ("gpt-4o.*search|gpt-5-search", "openai-search"),
    ("gpt-4o.*(audio|realtime|transcribe)|gpt-3.5-turbo-instruct", "openai-reasoning"),
    (r"gpt-4\.5|chatgpt", "openai-reasoning"),  # no recorded request
    ("gpt-3.5|gpt-4", "openai"),
    ("gpt-oss", "harmony"),
    ("gpt-[56]|gpt-daybreak|chat-latest|daybreak", "openai-gpt-5"),
    ("o1-(mini|preview)", "openai-o1-preview"),
    ("gpt|o[134](-|$)|codex|chat-latest|computer-use|daybreak", "openai-reasoning"),
    ("claude-[a-z]+-4-6", "anthropic-v4.6"),
    ("claude-(v?2|instant)", "anthropic-v2"),
    ("claude-3|claude-[a-z]+-4(?!-[789])", "anthropic-v3"),
    ("claude-[a-z]+-4-7|claude-mythos-preview", "anthropic-v4.7"),
    ("claude", "anthropic-v4.8"),
    ("gemini|deep-research", "gemini"),
    ("llama-?3", "llama"),
    ("deepseek", "deepseek"),
    ("mistral-small-3.2", "mistral-small-3.2"),
    (".*(mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral|labs-)", "mistral"),
    (r"qwen3\.[5-9]|qwen-?[4-9]", "qwen-3.5"),
    ("qwen|qwq|qvq", "qwen"),
    ("grok.*(fast|code)", "xai-fast"),
    (r"grok-4\.3", "xai-4.3"),
    ("grok-4$", "xai-4"),
    ("grok", "xai"),
    ("", "generic"),
)
# The cost of Anthropic's instructions for tool schemas, with an optional and with a required tool
# call (platform.claude.com, tool use, of 2025 and of 2026). Where the two pages disagree, the
# larger number applies, except for Claude 3.7 and 4, for which 20 recorded requests show 313. The
# framing has the maximum for models that neither page lists.
TOOL_PROMPTS = (
    ("claude-opus-4-8", (290, 410)),
    ("claude-opus-4-7", (675, 804)),
    ("claude-(opus|sonnet)-4-6", (497, 589)),
    ("claude-(opus|sonnet|haiku)-4-5", (496, 588)),
    ("claude-opus-4(-1)?$|claude-sonnet-4$", (313, 315)),
    ("claude-sonnet-5$", (354, 474)),
    ("claude-3-5-sonnet-20240620", (294, 261)),
    ("claude-3-5-sonnet", (346, 313)),
    ("claude-3-7-sonnet", (313, 313)),
    ("claude-3-5-haiku", (264, 355)),
    ("claude-3-opus", (530, 281)),
    ("claude-3-sonnet", (159, 235)),
    ("claude-3-haiku", (264, 340)),
    ("", None),
)
# Models that no vendor's page lists have the policy of the dearest of their family.
IMAGE_POLICIES = (
    ("gpt-4o-mini", "openai-gpt-4o-mini"),
    ("gpt-4.1-mini", "openai-gpt-4.1-mini"),
    ("gpt-4.1-nano", "openai-gpt-4.1-nano"),
    ("gpt-3.5|gpt-4|chatgpt", "openai-gpt-4o"),
    ("o4-mini|codex-mini", "openai-o4-mini"),  # codex-mini is a fine-tuned o4-mini
    ("o[13](-|$)", "openai-o1"),
    ("computer-use", "openai-computer-use"),
    ("gpt-5-nano", "openai-gpt-5-nano"),
    ("gpt-5(.1)?(-codex)?-mini", "openai-gpt-5-mini"),
    ("gpt-5(.1)?(-chat)?$", "openai-gpt-5"),
    ("gpt-5.4-mini", "openai-gpt-5.4-mini"),
    ("gpt-5.4-nano", "openai-gpt-5.4-nano"),
    ("gpt-5.4", "openai-gpt-5.4"),
    ("gpt-5.5", "openai-gpt-5.5"),
    ("gpt-5.6", "openai-gpt-5.6"),
    ("gpt-5", "openai-gpt-5.2"),
    ("gpt-6", "openai-gpt-6"),
    ("claude-(3|v?2|instant)|claude-[a-z]+-4(?!-[789])", "anthropic-standard"),
    ("claude", "anthropic-high"),
    ("gemini-[34]", "gemini-3"),
    ("gemini-2.0", "gemini-2.0"),
    ("gemini|deep-research", "gemini-2"),
    ("pixtral", "pixtral"),
    (r"qwen[\d.]*-vl", "qwen"),
    ("", "unknown"),
)
CLASSES: dict[str, Sequence[tuple[str, Any]]] = {
    "tokenizer": TOKENIZERS,
    "framing": FRAMINGS,
    "tool_prompt": TOOL_PROMPTS,
    "image_policy": IMAGE_POLICIES,
}

Row = dict[str, Any]


def main() -> None:
    """Read the wheel and the overrides, write the data file, and print the number of models per
    vendor.
    """
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("wheel", type=Path, help="a litellm wheel")
    options.add_argument("--date", required=True, help="the day it was released, YYYY-MM-DD")
    arguments = options.parse_args()
    version = arguments.wheel.name.split("-")[1]
    with ZipFile(arguments.wheel) as wheel:
        entries = json.loads(wheel.read(LIST))
    hand = json.loads((HERE / "overrides.json").read_text())
    rows = merged(
        folded(listed(entries)),
        [dict(zip(hand["columns"], row, strict=True)) for row in hand["models"]],
    )
    listing = f"litellm {version}'s model list (MIT)"
    sources = {"litellm": {"text": listing, "date": arguments.date}}
    for name, source in hand["sources"].items():
        sources[name] = source
        both = f"{listing}; {source['text']}; the smaller limit where they disagree"
        sources[f"litellm+{name}"] = {"text": both, "date": max(arguments.date, source["date"])}
    TARGET.write_text(spelled(rows, sources, arguments.date, {}))
    hosts = hosted(entries)
    TARGET.write_text(spelled(rows, sources, arguments.date, hosts))
    for vendor in ORDER:
        sys.stdout.write(f"{vendor:10} {sum(row['provider'] == vendor for row in rows):4}\n")
    sys.stdout.write(f"{'all':10} {len(rows):4}, {TARGET.stat().st_size:,} bytes\n")


def listed(entries: dict[str, Any]) -> dict[str, Row]:
    """The vendors' own chat models in litellm's list, by bare lower-case name, with the smaller
    limits.
    """
    rows: dict[str, Row] = {}
    for key, entry in entries.items():
        vendor = PROVIDERS.get(entry.get("litellm_provider"))
        name = key.rsplit("/", 1)[-1].lower()
        most = entry.get("max_input_tokens")
        if (
            vendor is None
            or entry.get("mode") not in MODES
            or not most
            or most <= 4000
            or SKIPPED.search(name)
        ):
            continue
        if vendor in FOREIGN and FOREIGN[vendor].search(name):
            continue
        window, most_input = _openai(name, most) if vendor == "OpenAI" else (most, None)
        row = {
            "name": name,
            "provider": vendor,
            "context_window": window,
            "max_input": most_input,
            "max_output": entry.get("max_output_tokens"),
            "source": "litellm",
        }
        rows[name] = _smaller(rows[name], row) if name in rows else row
    return rows


def _openai(name: str, most: int) -> tuple[int, int | None]:
    """The window and the max input of an OpenAI model: from gpt-5 on, 128,000 tokens of the window
    are reserved for the answer.

    The list gives the window for some models and the max input for others.
    """
    if re.match("gpt-[56]|chat-latest|daybreak|gpt-daybreak", name) and most not in (128_000,):
        return (most + 128_000, most) if most in (272_000, 922_000) else (most, most - 128_000)
    return most, None


def folded(rows: dict[str, Row]) -> dict[str, Row]:
    """The rows without dated names that add nothing to their undated name; adds missing undated
    names.
    """
    groups: dict[str, list[Row]] = {}
    for name, row in rows.items():
        groups.setdefault(name if ALIAS.match(name) else DATED.sub("", name), []).append(row)
    kept: dict[str, Row] = {}
    for base, group in groups.items():
        if base in rows:
            first = rows[base]
        else:
            first = group[0] | {"name": base}
            for row in group[1:]:
                first = _smaller(first, row)
        kept[base] = first
        kept |= {row["name"]: row for row in group if _limits(row) != _limits(first)}
    return kept


def merged(rows: dict[str, Row], hand: list[Row]) -> list[Row]:
    """The rows with the hand-kept ones, classified and in order."""
    for row in hand:
        known = rows.get(row["name"])
        source = f"litellm+{row['source']}" if known else row["source"]
        rows[row["name"]] = (_smaller(known, row) if known else row) | {"source": source}
    for name, row in rows.items():
        for column, table in CLASSES.items():
            row[column] = next(value for begins, value in table if re.match(begins, name))
    return sorted(rows.values(), key=lambda row: (ORDER.index(row["provider"]), row["name"]))


def hosted(entries: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The limits of hosts that are smaller than those that the registry has without hosts."""
    from ctxtrim.tokens.models import find_model, hosted_name

    hosts: dict[str, dict[str, int]] = {}
    for key, entry in entries.items():
        host, name = hosted_name(key)
        model, most = find_model(key), entry.get("max_input_tokens")
        if not host or model is None or not most or entry.get("mode") not in (*MODES, "completion"):
            continue
        if most < (model.max_input or model.context_window):
            limits = hosts.setdefault(host, {})
            limits[name] = min(most, limits.get(name, most))
    return {host: dict(sorted(limits.items())) for host, limits in sorted(hosts.items())}


def _limits(row: Row) -> tuple[int | None, ...]:
    return row["context_window"], row["max_input"], row["max_output"]


def _smaller(row: Row, other: Row) -> Row:
    """A row with the smaller limits of two rows; null means unknown."""
    limits = ("context_window", "max_input", "max_output")
    least = {
        key: min((value for value in (row[key], other[key]) if value), default=None)
        for key in limits
    }
    if least["max_input"] and least["max_input"] >= least["context_window"]:
        least["max_input"] = None
    if least["max_output"]:
        least["max_output"] = min(least["max_output"], least["context_window"])
    return row | least


def spelled(
    rows: list[Row], sources: dict[str, Any], date: str, hosts: dict[str, dict[str, int]]
) -> str:
    """The data file: a model or host per line, so that changes are readable as a diff."""
    used = {row["source"] for row in rows}
    head = {
        "date": date,
        "sources": {name: source for name, source in sources.items() if name in used},
        "columns": COLUMNS,
    }
    lines = [json.dumps([row[column] for column in COLUMNS], separators=(",", ":")) for row in rows]
    limits = [
        f"{json.dumps(host)}:{json.dumps(names, separators=(',', ':'))}"
        for host, names in hosts.items()
    ]
    return (
        json.dumps(head, indent=1)[:-2]
        + ',\n "hosts": {\n'
        + ",\n".join(limits)
        + '\n},\n "models": [\n'
        + ",\n".join(lines)
        + "\n]}\n"
    )


if __name__ == "__main__":
    main()
