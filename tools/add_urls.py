"""Write `project.urls` into `pyproject.toml`: `python tools/add_urls.py https://host/owner/name`.

The workflow that builds wheels calls it, so that the metadata name the repository from which they were built.
"""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def with_urls(text: str, repository: str) -> str:
    """Return the text of a `pyproject.toml` with the pages of a repository."""
    if "urls" in tomllib.loads(text)["project"]:
        raise SystemExit("pyproject.toml has project.urls already; nothing was written")
    if not repository.startswith("https://"):
        raise SystemExit(f"the address of the repository must begin with https://, not {repository!r}")
    pages = {"Source": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md"}
    return text + "\n[project.urls]\n" + "".join(f'{name} = "{repository}{page}"\n' for name, page in pages.items())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    PROJECT.write_text(with_urls(PROJECT.read_text(), sys.argv[1]))
