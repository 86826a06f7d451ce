"""The only readers and writers of a results folder."""
