"""How many generated cases a test runs."""

from hypothesis import settings


def examples(number: int) -> int:
    """The generated cases of a test that runs `number` of them with `--exhaustive`: else a tenth,
    at least three.
    """
    is_quick = settings.default is not None and settings.default.max_examples < 100
    return max(3, number // 10) if is_quick else number
