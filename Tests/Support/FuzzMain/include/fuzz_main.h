// Nothing to call: see fuzz_main.c.
