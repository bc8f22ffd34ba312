"""`python -m ctxtrim` and the `ctxtrim` script."""


def main() -> None:
    """Run the command line."""
    try:
        from ctxtrim.cli.app import app

        app(prog_name="ctxtrim")
    except KeyboardInterrupt:  # before a command could take it
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
