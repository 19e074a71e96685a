"""The conformance suite: one set of scenarios for every client and wire. See ../README.md."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# The acceptance tests' own protobuf, ttrpc, mirror and process helpers.
sys.path.insert(0, os.path.join(ROOT, "Tests", "acceptance"))
