"""One self-contained HTML page of all results.

`runs` reads what was run, `gather` collects the facts, `view*` decide what the page says, `page` and templates/ write it.
Imported by the verb `report`.
"""
