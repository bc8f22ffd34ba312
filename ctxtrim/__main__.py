"""`python -m ctxtrim` and the `ctxtrim` script."""


def main() -> None:
    """Run the command line."""
    try:
        from ctxtrim.cli.machine import calm_collector, calm_numpy, stop_collector

        calm_collector()  # imports leave no cycles, either
        calm_numpy()
        from ctxtrim.cli.app import command_line
        from ctxtrim.cli.exit_codes import exit_code_of

        code = exit_code_of(command_line)
        stop_collector()
    except KeyboardInterrupt:  # before `exit_code_of` is loaded
        code = 130
    raise SystemExit(code)


if __name__ == "__main__":
    main()
