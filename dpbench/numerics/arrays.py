"""`Floats`, the type of an array of doubles. Imported wherever arrays of numbers have a type."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
