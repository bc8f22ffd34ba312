"""Settings from `agents.config.json`, which belongs to other programs: invalid keys are warnings,
not errors.
"""

import json
from pathlib import Path

from ctxtrim.config import mappings
from ctxtrim.config.aliases import ALIASES
from ctxtrim.config.source import SettingsSource
from ctxtrim.errors import InputError
from ctxtrim.io.paths import configuration_in
from ctxtrim.text.escaping import clean


def agents_file(path: Path, *, is_named: bool = False) -> SettingsSource:
    """The settings in the blocks that ctxtrim reads; earlier blocks take precedence.

    Empty without a file.

    A named file must exist and is trusted.
    """
    source = SettingsSource(str(path), is_named, is_file=True)
    try:
        data = configuration_in(path, is_named=is_named)
        if data is None:
            return source
        document = json.loads(data)
    except InputError as error:
        if is_named:
            raise
        source.note(str(error).removeprefix(f"{path}: "))
        return source
    except UnicodeDecodeError as error:
        source.note(f"invalid JSON: not UTF-8 at byte {error.start + 1}; save it as UTF-8")
        return source
    except (ValueError, RecursionError) as error:
        source.note(f"invalid JSON: {clean(str(error))}")
        return source
    for block in ALIASES:
        values = document.get(block, {}) if isinstance(document, dict) else {}
        if isinstance(values, dict):
            mappings.read(source, values, block, block=block, is_ours=False)
        else:
            source.note(f"{block}: expected an object")
    return source
