"""The init container of a version: gets the source, verifies every byte, lays out Triton's model repository.

The road: ``plan`` (what is wanted) -> ``sources`` (bytes, a file a scheme) -> ``collect`` (archives opened, files
hashed while they are written) -> ``verify`` (hashes against the plan) -> ``place`` (into ``/models``). Nothing is at
its final place before all of it is verified. ``errors`` turns whatever happens into a reason and a message.
"""
