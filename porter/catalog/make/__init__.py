"""The catalogue made anew from wheels; the one part of porter, but for `verify --setup`, that uses the network."""
