"""What applying manifests would do: ``manifest`` each object, ``endpoint`` the decisions, ``objects`` the children.

All pure: the cluster's objects in, data out. ``words`` and ``markdown`` say it.
"""
