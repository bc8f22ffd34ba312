"""A user's tokenizer file: a Hugging Face `tokenizer.json` or a SentencePiece `.model`, read by
gigatoken.

Texts are counted exactly as the model reads them. The file does not contain the additions of the
chat template.
"""

import json
import stat
import struct
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from ctxtrim.errors import TokenizerError, UsageError, reason
from ctxtrim.io.paths import contents_of
from ctxtrim.tokens.tokenizer import Exactness

SUFFIXES = (".json", ".model")
_MAX_SIZE = 1 << 28  # bytes; the largest known files have a seventh of it
_GROWTH = 12  # maximum growth by a normalizer: U+FDFA becomes 33 bytes from 3
# Maximum token id: gigatoken allocates memory up to the highest id, and aborts the process if it
# cannot.
_HIGHEST = 1 << 22
_FILE_ERRORS = (
    json.JSONDecodeError,
    UnicodeDecodeError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
    struct.error,
)
"""The exceptions that an invalid tokenizer file can cause."""


def is_path(name: str) -> bool:
    """Whether the name of a tokenizer is a file path."""
    return "/" in name or "\\" in name or name.endswith(SUFFIXES)


class TokenizerFile(Struct, frozen=True):
    """The tokenizer in a file.

    A `UsageError` for an invalid file, a `TokenizerError` without gigatoken.
    """

    path: str
    version: tuple[int, ...] = ()
    """The identity of the file and its content: the same path in another folder, or a changed file,
    has another.
    """
    exactness: Exactness = "exact"

    def __post_init__(self) -> None:
        """Load the file, so that errors appear before anything is counted."""
        _engine(self.path, self.version)

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.path).name

    def count(self, text: str) -> int:
        """The tokens of a text. Special tokens count as text."""
        return int(_engine(self.path, self.version)(text).size)

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
        return [int(token) for token in _engine(self.path, self.version)(text)]

    def ceiling(self, text: str) -> int:
        """The UTF-8 bytes of a text, times the growth that a normalizer may cause."""
        return _GROWTH * len(text.encode(errors="surrogatepass")) + _GROWTH


def tokenizer_file(path: str) -> TokenizerFile:
    """The tokenizer in a file, as it is now. A pipe is read once."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return TokenizerFile(path)  # raises the error
    if not stat.S_ISREG(status.st_mode):
        return TokenizerFile(path)
    version = status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
    return TokenizerFile(path, version)


@cache
def _engine(path: str, version: tuple[int, ...]) -> Callable[[str], Any]:
    try:
        data = contents_of(Path(path), _MAX_SIZE)
    except OSError as error:
        raise _invalid(path, f"cannot be read: {reason(error)}") from None
    try:
        from gigatoken import Tokenizer
    except ImportError:
        raise TokenizerError(
            f"tokenizer {path}: tokenizer files need gigatoken; pip install 'ctxtrim[fast]'"
        ) from None

    from ctxtrim.tokenizers.gigatoken_memory import bounded_encode

    class Plain(Tokenizer):
        """Reads either kind of file through this method, and no special tokens."""

        @classmethod
        def from_json(cls, data: str | bytes) -> Any:
            return super().from_json(_plain(data))

    try:
        read = Plain.from_sentencepiece if path.endswith(".model") else Plain.from_json
        return bounded_encode(partial(read, data))
    except ImportError:
        raise TokenizerError(
            f"tokenizer {path}: gigatoken needs numpy, which cannot be loaded; reinstall it"
        ) from None
    except _FILE_ERRORS:
        problem = "is not a tokenizer"
    except (ValueError, RuntimeError) as error:
        # gigatoken's message; after the first line it names its source code
        problem = "cannot be used: " + str(error).partition("\n")[0]
    raise _invalid(path, problem)


def _invalid(path: str, problem: str) -> UsageError:
    return UsageError(
        f"tokenizer {path}: {problem}; expected the tokenizer.json of a BPE model, or a "
        "SentencePiece .model"
    )


def _plain(data: str | bytes) -> str:
    """The text of a tokenizer file without special tokens, so that their names count as text.

    Raises a `ValueError` for what gigatoken reads differently or cannot read.
    """
    value = json.loads(data)
    value["added_tokens"] = [
        token for token in value.get("added_tokens") or () if not token.get("special")
    ]
    for token in value["added_tokens"]:
        if token.get("single_word"):  # gigatoken finds it inside of words, too
            raise ValueError(f"the added token {token['content']!r} is for whole words only")
    vocabulary = value["model"].get("vocab")
    numbers = [token["id"] for token in value["added_tokens"]]
    if isinstance(vocabulary, dict):
        numbers += vocabulary.values()
    if max(numbers, default=0) > _HIGHEST:
        raise ValueError(f"a token has the number {max(numbers)}")
    return json.dumps(value)
