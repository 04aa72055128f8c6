"""Columns of answers and reports.

`declared` refuses lists of categories that may come from the answers, `categories` has the
declared ones and their codes, `category_json` their JSON, `number_spaces` numbers between declared
bounds, and `arrow` Arrow types of categories and arrays of Arrow.
`rebuilt` makes public columns anew from their cells, with `arrow_rebuild` for Arrow's buffers and
`compact` for its views.  `cell_types` tells the types of cells, `columns` opens containers,
`silence` keeps warnings of cells back, `number_readers` read cells as numbers, `encoders` as codes,
`builders` make reports in the container's type, and `codecs` bring them together for reports that
are categories; `bitsets` has reports that are subsets of categories, and `identifiers` ids of
persons.
Modules import from those named before them, `rebuilt` from its two helpers.  No name here is
public.
"""
