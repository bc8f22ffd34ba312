"""`agents.config.json`, which belongs to other programs: what it says of contexts; warnings where that is unclear."""

import json
from pathlib import Path

from ctxtrim.config import documents
from ctxtrim.config.aliases import ALIASES
from ctxtrim.config.said import Said
from ctxtrim.errors import InputError, reason
from ctxtrim.text.escaping import clean


def agents_file(path: Path, *, must_exist: bool = False) -> Said:
    """What the blocks for us say; one that comes first counts more. Nothing where there is no file."""
    said = Said(str(path))
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        if must_exist:
            raise InputError(f"{path}: cannot be read: {reason(error)}") from error
        return said
    except OSError as error:
        said.note(f"cannot be read: {reason(error)}")
        return said
    except (ValueError, RecursionError) as error:
        said.note(f"no JSON: {clean(str(error))}")
        return said
    for block in ALIASES:
        found = document.get(block, {}) if isinstance(document, dict) else {}
        if isinstance(found, dict):
            documents.read(said, found, block, block=block, is_ours=False)
        else:
            said.note(f"{block}: expected an object")
    return said
