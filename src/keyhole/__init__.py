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
    "AELR": "learners.aerr",
    "AER": "learners.aer",
    "AERR": "learners.aerr",
    "AdaptiveDantzig": "learners.adaptive_dantzig",
    "ArraySource": "sources",
    "BadData": "errors",
    "BadModelFile": "errors",
    "Bill": "sources",
    "BudgetExceeded": "errors",
    "CallableSource": "sources.call",
    "CompatibleDualAveraging": "learners.scheduled_dual_averaging",
    "DDAELR": "learners.ddaerr",
    "DDAERR": "learners.ddaerr",
    "Dantzig": "learners.dantzig",
    "DirectEstimation": "learners.aer",
    "DualAveraging": "learners.dual_averaging",
    "Exploitation": "learners.exploitation",
    "Exploration": "learners.exploration",
    "ExplorationRegressor": "estimators",
    "Hybrid": "learners.hybrid",
    "HybridRegressor": "estimators",
    "IHT": "learners.full_information",
    "KeyholeError": "errors",
    "LearnerRegressor": "estimators",
    "MissingExtra": "errors",
    "Misuse": "errors",
    "Model": "modelfile",
    "OnlineGreedy": "learners.online_greedy",
    "OnlineOMP": "learners.online_omp",
    "ParquetSource": "sources.parquet",
    "Predictor": "predictor",
    "PriceList": "prices",
    "Progress": "driver",
    "Pursuit": "learners.pursuit",
    "PursuitRegressor": "estimators",
    "Query": "query",
    "Record": "result",
    "Result": "result",
    "Round": "query",
    "RowsThenColumns": "learners.rows_then_columns",
    "SQLSource": "sources.sql",
    "ScheduledDualAveraging": "learners.scheduled_dual_averaging",
    "Screening": "learners.screening",
    "SourceFailed": "errors",
    "StoGradMP": "learners.full_information",
    "StoIHT": "learners.full_information",
    "Stopped": "sources",
    "SupportHedge": "learners.support_hedge",
    "SyntheticSource": "sources",
    "TruncatedDualAveraging": "learners.truncated_dual_averaging",
    "learn": "driver",
    "read_model": "modelfile",
    "write_model": "modelfile",
}

__all__ = [
    "AELR",
    "AER",
    "AERR",
    "DDAELR",
    "DDAERR",
    "IHT",
    "AdaptiveDantzig",
    "ArraySource",
    "BadData",
    "BadModelFile",
    "Bill",
    "BudgetExceeded",
    "CallableSource",
    "CompatibleDualAveraging",
    "Dantzig",
    "DirectEstimation",
    "DualAveraging",
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
    "OnlineGreedy",
    "OnlineOMP",
    "ParquetSource",
    "Predictor",
    "PriceList",
    "Progress",
    "Pursuit",
    "PursuitRegressor",
    "Query",
    "Record",
    "Result",
    "Round",
    "RowsThenColumns",
    "SQLSource",
    "ScheduledDualAveraging",
    "Screening",
    "SourceFailed",
    "StoGradMP",
    "StoIHT",
    "Stopped",
    "SupportHedge",
    "SyntheticSource",
    "TruncatedDualAveraging",
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
    from keyhole.estimators import ExplorationRegressor, HybridRegressor, LearnerRegressor, PursuitRegressor
    from keyhole.learners.adaptive_dantzig import AdaptiveDantzig
    from keyhole.learners.aer import AER, DirectEstimation
    from keyhole.learners.aerr import AELR, AERR
    from keyhole.learners.dantzig import Dantzig
    from keyhole.learners.ddaerr import DDAELR, DDAERR
    from keyhole.learners.dual_averaging import DualAveraging
    from keyhole.learners.exploitation import Exploitation
    from keyhole.learners.exploration import Exploration
    from keyhole.learners.full_information import IHT, StoGradMP, StoIHT
    from keyhole.learners.hybrid import Hybrid
    from keyhole.learners.online_greedy import OnlineGreedy
    from keyhole.learners.online_omp import OnlineOMP
    from keyhole.learners.pursuit import Pursuit
    from keyhole.learners.rows_then_columns import RowsThenColumns
    from keyhole.learners.scheduled_dual_averaging import CompatibleDualAveraging, ScheduledDualAveraging
    from keyhole.learners.screening import Screening
    from keyhole.learners.support_hedge import SupportHedge
    from keyhole.learners.truncated_dual_averaging import TruncatedDualAveraging
    from keyhole.modelfile import Model, read_model, write_model
    from keyhole.predictor import Predictor
    from keyhole.prices import PriceList
    from keyhole.query import Query, Round
    from keyhole.result import Record, Result
    from keyhole.sources import ArraySource, Bill, Stopped, SyntheticSource
    from keyhole.sources.call import CallableSource
    from keyhole.sources.parquet import ParquetSource
    from keyhole.sources.sql import SQLSource
