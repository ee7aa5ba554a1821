"""The measurements, the peers and the targets: one module for each part of the table of targets.

To add rows, write a module that yields ``Row``s: the task for ncforge, that for each peer, and the target; and name it in ``run.py``. A new
kind of task goes into ``benches/workers``: that of ncforge describes the protocol.
"""
