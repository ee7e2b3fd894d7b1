"""``python -m osan``, and the command ``osan``."""

from osan import interrupts


def main() -> None:
    """Run the command; signals are heard before anything else is imported."""
    try:
        interrupts.listen()
        from osan.cli import main as run

        run()
    except BaseException as error:
        if isinstance(error, SystemExit) or not interrupts.caused(error):
            raise
        interrupts.leave()


if __name__ == "__main__":
    main()
