"""Table 4 of analytics: users, items, records, and the largest, average and smallest user of each dataset."""

from dpbench.figures.shapes import dataset_table

numbers, draw = dataset_table(
    {
        "dataset": "Dataset",
        "users": "Users",
        "items": "Items",
        "records": "Records",
        "largest": "Largest user",
        "average": "Average user",
        "smallest": "Smallest user",
    },
    formats={"average": ",.1f"},
    paper="analytics",
    # The card of Netflix has the numbers of another paper.
    stated={
        "netflix": {
            "users": 480189,
            "items": 17700,
            "records": 100480507,
            "largest": 17000,
            "average": 209.2,
            "smallest": 1,
        }
    },
)
