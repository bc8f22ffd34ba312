"""A user's own tokenizer: a Hugging Face `tokenizer.json` or a SentencePiece `.model`, read by gigatoken.

Texts are counted exactly as the model would; what the model's chat template adds to them is not in the file.
"""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ctxtrim.errors import TokenizerError, UsageError
from ctxtrim.tokenizers.gigatoken_bounded import arrays
from ctxtrim.tokens import Exactness

SUFFIXES = (".json", ".model")
_GROWTH = 12  # bytes a normaliser may make of one: U+FDFA becomes 33 bytes from 3
_HIGHEST = 1 << 22  # number of a token; gigatoken takes memory for each up to the highest, and ends the process without
_ODD = (
    json.JSONDecodeError,
    UnicodeDecodeError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
    struct.error,
)
"""What reading something that is no tokenizer may end in."""


def is_path(name: str) -> bool:
    """Whether the name of a tokenizer is the path of a file."""
    return "/" in name or "\\" in name or name.endswith(SUFFIXES)


@dataclass(frozen=True)
class TokenizerFile:
    """The tokenizer in a file; a `UsageError` at once where there is none, a `TokenizerError` without gigatoken."""

    path: str
    exactness: Exactness = "exact"

    def __post_init__(self) -> None:
        """What cannot be read is known before anything is counted."""
        _engine(self.path)

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.path).name

    def count(self, text: str) -> int:
        """The tokens of a text; special tokens in it are counted as the text they are."""
        return int(_engine(self.path)(text).size)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, by number."""
        return [int(token) for token in _engine(self.path)(text)]

    def ceiling(self, text: str) -> int:
        """The bytes of a text, and room for what a normaliser may add."""
        return _GROWTH * len(text.encode(errors="surrogatepass")) + _GROWTH


@cache
def _engine(path: str) -> Callable[[str], Any]:
    try:
        from gigatoken import Tokenizer
    except ImportError:
        raise TokenizerError(
            f"--tokenizer {path}: tokenizer files need gigatoken; pip install 'ctxtrim[fast]'"
        ) from None

    class Plain(Tokenizer):
        """Reads either kind of file through this method, and no special tokens."""

        @classmethod
        def from_json(cls, data: str | bytes) -> Any:
            return super().from_json(_plain(data))

    try:
        data = Path(path).read_bytes()
        return arrays(partial(Plain.from_sentencepiece if path.endswith(".model") else Plain.from_json, data))
    except OSError as error:
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
    except _ODD:
        reason = "is no tokenizer"
    except (ValueError, RuntimeError) as error:  # gigatoken's words; after the first line stands where in its code
        reason = "cannot be used: " + str(error).partition("\n")[0]
    raise UsageError(
        f"--tokenizer {path}: {reason}; expected the tokenizer.json of a BPE model, or a SentencePiece .model"
    )


def _plain(data: str | bytes) -> str:
    """The tokenizer without its special tokens, so that their names in a text are text."""
    value = json.loads(data)
    value["added_tokens"] = [token for token in value.get("added_tokens") or () if not token.get("special")]
    vocabulary = value["model"].get("vocab")
    numbers = [token["id"] for token in value["added_tokens"]]
    if isinstance(vocabulary, dict):
        numbers += vocabulary.values()
    if max(numbers, default=0) > _HIGHEST:
        raise ValueError(f"a token has the number {max(numbers)}")
    return json.dumps(value)
