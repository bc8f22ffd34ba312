"""A user's own tokenizer: a Hugging Face `tokenizer.json` or a SentencePiece `.model`, read by gigatoken.

Texts are counted exactly as the model would; what the model's chat template adds to them is not in the file.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ctxtrim.errors import TokenizerError
from ctxtrim.tokenizers.encodings import counting
from ctxtrim.tokens import Exactness

SUFFIXES = (".json", ".model")
_GROWTH = 12  # bytes a normaliser may make of one: U+FDFA becomes 33 bytes from 3


def is_path(name: str) -> bool:
    """Whether the name of a tokenizer is the path of a file."""
    return "/" in name or "\\" in name or name.endswith(SUFFIXES)


@dataclass(frozen=True)
class TokenizerFile:
    """The tokenizer in a file; a `TokenizerError` at once where there is none."""

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
        return _engine(self.path)(text)

    def ceiling(self, text: str) -> int:
        """The bytes of a text, and room for what a normaliser may add."""
        return _GROWTH * len(text.encode(errors="surrogatepass")) + _GROWTH


@cache
def _engine(path: str) -> Callable[[str], int]:
    try:
        from gigatoken import Tokenizer
    except ImportError:
        raise TokenizerError(
            f"--tokenizer {path}: tokenizer files need gigatoken; pip install 'ctxtrim[fast]'"
        ) from None
    try:
        data = Path(path).read_bytes()
        made = Tokenizer.from_sentencepiece(data) if path.endswith(".model") else Tokenizer.from_json(_plain(data))
    except OSError as error:
        raise TokenizerError(f"--tokenizer {path}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        expected = "expected a tokenizer.json of a BPE model, or a SentencePiece .model"
        raise TokenizerError(f"--tokenizer {path}: no tokenizer that can be read; {expected}") from error
    return counting(made.backend.encode)


def _plain(data: bytes) -> str:
    """The tokenizer without its special tokens, so that their names in a text are text."""
    value = json.loads(data)
    value["added_tokens"] = [token for token in value.get("added_tokens") or () if not token.get("special")]
    return json.dumps(value)
