"""Attacks: generators of hostile input that go on searching for as long as they are given.

A module of this folder that defines `attack(seconds, seed)` is an attack. It tries cases until the seconds have passed,
prints every case that failed with what reproduces it, and returns a `Tally`: how many cases were `tried`, `refused` by
a named error, `answered`, and `failed`. Nothing has to be listed anywhere: `make test` runs each attack for a moment
with seed 0, and `make attack` runs all of them for `SECONDS`.

An attack enumerates what it attacks from the registry or from the public names, so that whatever is added later is
attacked as well.
"""
