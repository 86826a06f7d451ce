"""HOW GOOD it is: queries and metrics. Imports data and numerics only."""

from dpbench.model.metric import Metric
from dpbench.tasks.base import TASKS, Task

__all__ = ["TASKS", "Metric", "Task"]
