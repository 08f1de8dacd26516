# SPDX-License-Identifier: Apache-2.0
"""Modules in the place of packages that vLLM imports by name, and never calls when it generates from tokens."""
import sys


class Absent:
    """A class of such a package: can be subscripted, subclassed and named in a model of pydantic. Calling it raises an error."""
    name = "?"

    def __init__(self, *_, **__):
        raise RuntimeError(f"{self.name}: this archive of vLLM does not have that package")

    def __class_getitem__(cls, _):
        return cls

    @classmethod
    def __get_pydantic_core_schema__(cls, *_):
        from pydantic_core import core_schema
        return core_schema.any_schema()


def stand_in(name):
    """Makes the module NAME, which calls this, have every attribute: a class that is Absent."""
    module = sys.modules[name]
    module.__path__ = []
    module.__version__ = "0"

    def attribute(wanted):
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        made = type(wanted, (Absent,), {"name": f"{name}.{wanted}", "__module__": name})
        setattr(module, wanted, made)
        return made

    module.__getattr__ = attribute
