"""The code of scripts/lint-protos: `source` compiles, `lint` and `breaking` check, `released` stores.
"""
