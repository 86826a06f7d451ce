"""Everything of a paper in one go: run, draw, judge, put on record, and compare with the record. Imported by the verbs."""
