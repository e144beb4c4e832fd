"""Conversion to and from the layout objects of other packages, one module each, imported only when used.

The mathematics is in tirx.layout; a module here reads and builds the other package's objects and nothing else.
"""
