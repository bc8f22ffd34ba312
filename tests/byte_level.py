"""A small tokenizer file."""

from typing import Any


def letters() -> dict[int, str]:
    """The characters for bytes in byte-level vocabularies: printable bytes are themselves, others
    are shifted.
    """
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {
        byte: chr(256 + position) for position, byte in enumerate(rest)
    }


def tokenizer_json() -> dict[str, Any]:
    """A byte-level BPE of 256 bytes, four merges and a special token."""
    merges = ["t i", "d e", "ti de", "Ġ s"]
    vocabulary = {letter: number for number, letter in enumerate(letters().values())}
    for merge in merges:
        vocabulary[merge.replace(" ", "")] = len(vocabulary)
    level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    end = {"id": 260, "content": "<|end|>", "special": True, "normalized": False}
    end |= dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    model: dict[str, Any] = {
        "type": "BPE",
        "vocab": vocabulary,
        "merges": merges,
        "byte_fallback": False,
    }
    return {
        "version": "1.0",
        "added_tokens": [end],
        "normalizer": None,
        "pre_tokenizer": level,
        "model": model,
        "decoder": level,
        "post_processor": None,
    }
