"""Table 2 of gs: rows, columns, largest row and average count of each dataset."""

from dpbench.figures.shapes import dataset_table

numbers, draw = dataset_table(
    {
        "dataset": "Dataset",
        "rows": "Rows",
        "columns": "Columns",
        "largest_row": "Δ₁(Q)",
        "average_count": "Avg. count",
    },
    formats={"average_count": ",.2f"},
    paper="gs",
)
