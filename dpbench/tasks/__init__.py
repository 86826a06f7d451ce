"""HOW GOOD it is: queries and metrics. Imports data and numerics only."""

from dpbench.tasks.base import TASKS, Metric, Task

__all__ = ["TASKS", "Metric", "Task"]
