"""The fault campaign, `make campaign`: faults of all kinds against the command line, for a bounded time, from one seed."""
