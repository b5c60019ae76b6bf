"""The three kinds of array that travel between rooms."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AnyArray = NDArray[Any]
