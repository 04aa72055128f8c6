"""The designs that docs/guide/designs_by_matrix.md makes, by the page's own code."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

_PAGE = Path(__file__).parents[1] / "docs" / "guide" / "designs_by_matrix.md"


def _functions() -> SimpleNamespace:
    """What the page's cells define, run one after the other."""
    namespace: dict[str, object] = {}
    for cell in re.findall(r"```\{code-cell\} python\n(.*?)```", _PAGE.read_text("utf-8"), re.S):
        with redirect_stdout(StringIO()):
            exec(cell, namespace)
    return SimpleNamespace(**{k: v for k, v in namespace.items() if not k.startswith("_")})


by_matrix = _functions()
