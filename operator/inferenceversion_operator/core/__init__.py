"""The pure core: a snapshot and the time in, a plan out. No clock, no random, no I/O."""
