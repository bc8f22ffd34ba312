"""Settings and their sources, in order of precedence.

::

    command line            --max-age 3                                   highest precedence
    environment             CTXTRIM_MAX_AGE=3
    --config FILE           max-age = 3
    ./ctxtrim.toml          the same, and [truncate] max-age = 3, pipeline = ["truncate", "trim"],
                            [models.our-model], [[paths]] match = "runs/**"
    ./pyproject.toml        the same in [tool.ctxtrim]
    ./agents.config.json    {"contextManagement": {"maxAge": 3}}, and the blocks compactor and
                            toolOutput
                            (all three in the nearest folder with one of them, up to the root of
                            the repository)
    the user's folder       config.toml, as ctxtrim.toml
    the preset
    the default of the setting                                            lowest precedence
"""
