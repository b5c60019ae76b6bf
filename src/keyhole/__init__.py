"""Keyhole learns a sparse linear model when every feature value costs something.

Per example it may look at only ``n_observed`` of the attributes, while training and while predicting. It decides which
values are worth looking at, counts every one, and hands back a predictor that needs only a handful of columns.

>>> import keyhole as kh
>>> source = kh.SyntheticSource.paper(seed=0)  # 500 attributes, 25 of which matter
>>> result = kh.learn(kh.Hybrid(n_observed=50, n_nonzero_coefs=25), source, max_examples=26_000)
>>> bool(source.risk(result.predictor) < 1.15 * source.noise_floor)
True
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# Public names are imported when they are first used, so that `import keyhole` is quick and pulls in no optional
# package. For type checkers the same names are imported at once.
_ROOM_OF = {
    "ArraySource": "sources",
    "BadData": "errors",
    "BadModelFile": "errors",
    "Bill": "sources",
    "BudgetExceeded": "errors",
    "Exploitation": "learners",
    "Exploration": "learners",
    "ExplorationRegressor": "estimators",
    "Hybrid": "learners",
    "HybridRegressor": "estimators",
    "KeyholeError": "errors",
    "LearnerRegressor": "estimators",
    "MissingExtra": "errors",
    "Misuse": "errors",
    "Model": "modelfile",
    "Predictor": "predictor",
    "Progress": "driver",
    "Query": "query",
    "Record": "result",
    "Result": "result",
    "Round": "query",
    "SourceFailed": "errors",
    "Stopped": "sources",
    "SyntheticSource": "sources",
    "learn": "driver",
    "read_model": "modelfile",
    "write_model": "modelfile",
}

__all__ = [
    "ArraySource",
    "BadData",
    "BadModelFile",
    "Bill",
    "BudgetExceeded",
    "Exploitation",
    "Exploration",
    "ExplorationRegressor",
    "Hybrid",
    "HybridRegressor",
    "KeyholeError",
    "LearnerRegressor",
    "MissingExtra",
    "Misuse",
    "Model",
    "Predictor",
    "Progress",
    "Query",
    "Record",
    "Result",
    "Round",
    "SourceFailed",
    "Stopped",
    "SyntheticSource",
    "__version__",
    "learn",
    "read_model",
    "write_model",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'keyhole' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"keyhole.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from keyhole.driver import Progress, learn
    from keyhole.errors import (
        BadData,
        BadModelFile,
        BudgetExceeded,
        KeyholeError,
        MissingExtra,
        Misuse,
        SourceFailed,
    )
    from keyhole.estimators import ExplorationRegressor, HybridRegressor, LearnerRegressor
    from keyhole.learners import Exploitation, Exploration, Hybrid
    from keyhole.modelfile import Model, read_model, write_model
    from keyhole.predictor import Predictor
    from keyhole.query import Query, Round
    from keyhole.result import Record, Result
    from keyhole.sources import ArraySource, Bill, Stopped, SyntheticSource
