"""Table 4 of analytics: users, items, records, and the largest, average and smallest user of each dataset."""

from dpbench.figures.shapes import dataset_table

numbers, draw = dataset_table(
    {
        "dataset": "Dataset",
        "users": "Users",
        "items": "Items",
        "records": "|D|",
        "largest": "max |T_k|",
        "average": "avg |T_k|",
        "smallest": "min |T_k|",
    },
    formats={"average": ",.1f"},
)
