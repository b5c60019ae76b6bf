"""One run of ``keyhole fit``, and what its model file says about it."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import keyhole as kh
from keyhole.cli import settings
from keyhole.cli.reading import Outline, Reading
from keyhole.modelfile import Model
from keyhole.prices import PriceList
from keyhole.query import Learner
from keyhole.result import Result
from keyhole.sources import Limits, Source


@dataclass(eq=False)
class Run:
    """A learner in front of an open source."""

    outline: Outline
    reading: Reading
    source: Source
    learner: Learner
    prices: PriceList | None
    limits: Limits

    def __post_init__(self) -> None:
        remaining = self.source.remaining()
        self.n_examples = 0 if remaining is None else remaining // self.reading.how.get("passes", 1)

    def learn(self, *, seed: int, progress: bool) -> Result:
        """Let it learn until something ends it."""
        limits = dataclasses.asdict(self.limits)
        return kh.learn(self.learner, self.source, seed=seed, progress=progress, prices=self.prices, **limits)

    def model(self, result: Result) -> Model:
        """What was learned, with what a reader of the model file will want to know about it."""
        p, bill = result.predictor, result.bill
        looks = zip(p.labels(), bill.per_attribute[p.attributes].tolist(), strict=True)
        cost = float(p.attributes.size) if self.prices is None else self.prices.cost(p.attributes)
        about: dict[str, Any] = {
            "target": self.outline.target,
            "learner": type(result.learner).__name__,
            "parameters": settings.parameters(result.learner),
            "data": {
                **self.reading.where,
                "examples": self.n_examples,
                "attributes": self.outline.n_attributes,
                **self.reading.how,
            },
            "bill": {"examples": bill.examples, "values": bill.values, "cost": bill.cost, "looks": dict(looks)},
            "prediction": {"values": p.attributes.size, "cost": cost},
            "stopped": str(result.stopped or "an error broke it off"),
            "keyhole": kh.__version__,
        }
        if self.prices is not None:
            about["bill"]["prices"] = dict(zip(p.labels(), self.prices.prices[p.attributes].tolist(), strict=True))
        if result.explanation is not None:
            about["bill"]["missing_values"] = result.explanation.missing_values
            about["reasons"] = result.explanation.as_data()
        return Model(p, about)

    def bytes_read(self) -> int | None:
        """How many bytes were read from storage, where the source counts them."""
        found = getattr(self.source, "bytes_read", None)
        return found if isinstance(found, int) else None
