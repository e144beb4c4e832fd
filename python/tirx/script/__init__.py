"""The script language: kernels are Python functions that the parser here turns into IR.

`from tirx.script import T, Tx`. The accepted language is docs/language.md.
"""

from . import t as T  # noqa: N812
from . import tx as Tx  # noqa: N812
from .entry import from_source, module_from_source

__all__ = ["T", "Tx", "from_source", "module_from_source"]
