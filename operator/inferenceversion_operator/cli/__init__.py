"""``kubectl iv``: a thin file a command; what is shown comes from ``views`` (pure, objects in, data out).

``documents`` reads manifests, ``cluster`` is the only file that talks to a cluster, ``output`` prints, ``errors`` has
the exit codes. A new command is a file with one function, and a line in ``app``.
"""
