"""The report of one release: ``evidence`` collects it, ``chart`` places lines, ``page`` writes HTML. All pure."""
