"""How many facts can a transformer learn to recall, from how much data, and why?

>>> import recallscope
>>> problem = recallscope.Problem(vocab=256, samples=1024, dim=128, length=8)
>>> recallscope.run(problem, seed=0).status
<Status.OK: 'ok'>
"""

from __future__ import annotations

from typing import Any

import lazy_loader

# Names are loaded when first used: a problem or a task does not wait for torch. The stub next to
# this file lists the names and their modules; type checkers and editors read it too.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.3.0"


def __getattr__(name: str) -> Any:
    from recallscope.common.extras import missing_explained

    with missing_explained():
        return _load(name)
