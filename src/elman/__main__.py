"""``python -m elman`` and the command ``elman``."""

import sys


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        from elman.cli import app  # noqa: PLC0415 - the command line's libraries are an extra
    except ModuleNotFoundError as error:
        sys.exit(f"elman: the command line needs {error.name}: pip install 'elman[cli]'")
    app(prog_name="elman")


if __name__ == "__main__":
    main()
