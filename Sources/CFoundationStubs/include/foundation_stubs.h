// Nothing to call: see foundation_stubs.c.
