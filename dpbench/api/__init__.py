"""The Python interface for programs and notebooks: `dpbench.run`, `dpbench.dataset`, `dpbench.task`, `dpbench.audit` and more.

It is on the same level as the verbs: it may import every package, and none imports it. Exported by name from `dpbench`.
"""
