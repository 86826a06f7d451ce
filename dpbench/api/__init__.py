"""The door for Python programs and notebooks: what `dpbench.run`, `dpbench.dataset`, `dpbench.task` and `dpbench.audit` do.

Stands beside the verbs: it may import every package, and none imports it. Exported by name from `dpbench` itself.
"""
