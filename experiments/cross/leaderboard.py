"""cross: every column-count mechanism on every dataset, in three boards that are never mixed.

Mechanisms are ranked by the mean absolute error; the regrets by the other errors are also given. See `dpbench.compare` for the
statistics.
"""

from dpbench.compare.pictures import CAPTION
from dpbench.compare.views import column_figures as figures
from dpbench.compare.views import column_numbers as numbers
from dpbench.compare.views import column_summary as summary

__all__ = ["CAPTION", "figures", "numbers", "summary"]
