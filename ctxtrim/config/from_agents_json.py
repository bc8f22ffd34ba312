"""`agents.config.json`, which belongs to other programs: what it says of contexts; warnings where that is unclear."""

import json
from pathlib import Path

from ctxtrim.config import mappings
from ctxtrim.config.aliases import ALIASES
from ctxtrim.config.contents import contents
from ctxtrim.config.source import Said
from ctxtrim.errors import InputError
from ctxtrim.text.escaping import clean


def agents_file(path: Path, *, is_named: bool = False) -> Said:
    """What the blocks for us say; one that comes first counts more. Nothing where there is no file.

    A named file must exist and is trusted.
    """
    said = Said(str(path), is_named)
    try:
        data = contents(path, is_named=is_named)
        if data is None:
            return said
        document = json.loads(data)
    except InputError as error:
        if is_named:
            raise
        said.note(str(error).removeprefix(f"{path}: "))
        return said
    except (ValueError, RecursionError) as error:
        said.note(f"no JSON: {clean(str(error))}")
        return said
    for block in ALIASES:
        found = document.get(block, {}) if isinstance(document, dict) else {}
        if isinstance(found, dict):
            mappings.read(said, found, block, block=block, is_ours=False)
        else:
            said.note(f"{block}: expected an object")
    return said
