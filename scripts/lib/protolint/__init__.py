"""What scripts/lint-protos does: `source` compiles, `lint` and `breaking` look, `released` keeps.
"""
