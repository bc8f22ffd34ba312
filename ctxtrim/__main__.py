"""`python -m ctxtrim` and the `ctxtrim` script."""


def main() -> None:
    """Run the command line."""
    from ctxtrim.cli.app import app

    app(prog_name="ctxtrim")


if __name__ == "__main__":
    main()
