"""What comes with the package, beside what tests register."""

from suffice import families


def family_names() -> list[str]:
    """List the names of the families of the package; other tests may have defined families of their own."""
    return [name for name in families.family_names() if families.named(name).__module__.startswith("suffice.")]
