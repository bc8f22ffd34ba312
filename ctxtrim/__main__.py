"""`python -m ctxtrim` and the `ctxtrim` script."""


def main() -> None:
    """Run the command line."""
    try:
        from ctxtrim.cli.app import command_line
        from ctxtrim.cli.exit_codes import concluded

        code = concluded(command_line)
    except KeyboardInterrupt:  # before `concluded` is loaded
        code = 130
    raise SystemExit(code)


if __name__ == "__main__":
    main()
