"""suffice: generative classification by sufficient statistics that add and subtract.

The public names are listed in `__init__.pyi`. Each loads when it is first used, so that `import suffice` stays light.
"""

import lazy_loader as _lazy

_getattr, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("suffice")
    if name not in __all__:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    return _getattr(name)
