"""Public columns with hidden bytes: the same cells in other chunks, with other bytes around them.

`column` gives each type's cells with secrets where no cell shows them: under nulls, outside the
slices, and behind views.  Two columns with different tags and cuts differ in nothing that a reader
sees in their cells.
"""

import datetime
import io
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq

ROWS = 40
TAGS = {"first": ("SECRET", (7, 9, 30)), "second": ("SECRET-and-much-longer-than-a-view", (1, 33))}
"""For each variant its secret, and the rows where it is cut."""


def _numbers(seed):
    return int.from_bytes(seed.encode()[-2:], "little") % 100 + 20


def _days(seed):
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=_numbers(seed))


TYPES = {
    "bool": (pa.bool_(), [True, False], lambda s: s == "SECRET"),
    "int8": (pa.int8(), [1, 2, 3], _numbers),
    "int64": (pa.int64(), [1, 2, 3], _numbers),
    "float64": (pa.float64(), [0.5, 2.0], lambda s: float(_numbers(s))),
    "decimal128": (pa.decimal128(9, 2), [1, 2], _numbers),
    "date32": (pa.date32(), [_days("aa"), _days("zz")], _days),
    "timestamp": (pa.timestamp("us", "UTC"), [0, 1], _numbers),
    "fixed_size_binary": (pa.binary(6), [b"shown.", b"other."], lambda s: s[:6].encode()[::-1]),
    "string": (pa.string(), ["shown", "a longer text that is shown", ""], str),
    "large_string": (pa.large_string(), ["shown", "a longer text that is shown", ""], str),
    "binary": (pa.binary(), [b"shown", b""], str.encode),
    "string_view": (pa.string_view(), ["shown", "a longer text that is shown", ""], str),
    "binary_view": (pa.binary_view(), [b"shown", b"longer bytes that are shown"], str.encode),
    "list": (pa.list_(pa.string()), [["shown"], [], ["b", "c"]], lambda s: [s, s]),
    "large_list": (pa.large_list(pa.int8()), [[1], [], [2, 3]], lambda s: [_numbers(s)] * 3),
    "list of views": (pa.list_(pa.string_view()), [["shown"], ["b"]], lambda s: [s, s]),
    "fixed_size_list": (pa.list_(pa.int16(), 2), [[1, 2], [3, 4]], lambda s: [_numbers(s)] * 2),
    "map": (pa.map_(pa.string(), pa.int8()), [[("shown", 1)], []], lambda s: [(s, 1), (s, 2)]),
    "struct": (
        pa.struct([("text", pa.string()), ("n", pa.int8())]),
        [{"text": "shown", "n": 1}, {"text": None, "n": 2}],
        lambda s: {"text": s, "n": _numbers(s)},
    ),
    "struct of structs": (
        pa.struct([("in", pa.struct([("text", pa.string_view()), ("flag", pa.bool_())]))]),
        [{"in": {"text": "shown", "flag": True}}, {"in": None}],
        lambda s: {"in": {"text": s, "flag": s == "SECRET"}},
    ),
    "list of structs": (
        pa.list_(pa.struct([("text", pa.string())])),
        [[{"text": "shown"}], []],
        lambda s: [{"text": s}, {"text": s}],
    ),
    "dictionary": (
        pa.dictionary(pa.int8(), pa.string()),
        ["middle", "low"],
        lambda s: "low" if s == "SECRET" else "high",
    ),
    "run_end_encoded": (pa.run_end_encoded(pa.int32(), pa.string()), ["shown", "b"], str),
    "uuid": (
        getattr(pa, "uuid", pa.int8)(),
        [b"0" * 16, b"1" * 16],
        lambda s: (s * 3)[:16].encode(),
    ),
}
"""For each name the type, values of cells, and the hidden value of a secret."""

if int(pa.__version__.partition(".")[0]) < 18:
    # It makes no views from buffers, so none can be planted; the package refuses nested ones there.
    TYPES = {name: each for name, each in TYPES.items() if "view" not in str(each[0])}
    del TYPES["uuid"]  # a type of newer versions

WORDS = ["low", "middle", "high", "unused"]


def _array(type, values):
    """An array of a type; only some can be made from Python values."""
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, pa.array(values, type.storage_type))
    if pa.types.is_dictionary(type):
        codes = pa.array([WORDS.index(value) for value in values], type.index_type)
        return pa.DictionaryArray.from_arrays(codes, pa.array(WORDS))
    if pa.types.is_run_end_encoded(type):
        return pc.run_end_encode(pa.array(values, type.value_type))
    return pa.array(values, type)


def _under_nulls(array, valid):
    """The array with nulls, under which its values stay."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, _under_nulls(array.storage, valid))
    if pa.types.is_dictionary(type):
        return pa.DictionaryArray.from_arrays(_under_nulls(array.indices, valid), array.dictionary)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    if pa.types.is_struct(type):
        children = [array.field(place) for place in range(type.num_fields)]
    else:
        children = [array.values] if type.num_fields else []
    buffers = array.buffers()[1 : _own_buffers(type)]
    return pa.Array.from_buffers(type, len(array), [bits, *buffers], children=children or None)


def _own_buffers(type):
    """The number of buffers of an array itself, without those of its children."""
    types = pa.types
    if types.is_struct(type) or types.is_fixed_size_list(type):
        return 1
    return 2 if type.num_fields else None


def column(name, variant):
    """The cells of a type, cut and surrounded as the variant says."""
    type, shown, hide = TYPES[name]
    secret, cuts = TAGS[variant]
    hidden = hide(secret)
    has_nulls = not pa.types.is_run_end_encoded(type)
    cells = [shown[row % len(shown)] for row in range(ROWS)]
    if has_nulls:
        cells = [hidden if row % 5 == 0 else cell for row, cell in enumerate(cells)]
    before = 2 if variant == "first" else 9
    values = [hidden] * before + cells + [hidden] * 3
    array = _array(type, values)
    if has_nulls:
        valid = np.ones(len(values), bool)
        valid[before : before + ROWS : 5] = False
        array = _under_nulls(array, valid)
    ends = [*cuts, ROWS]
    starts = [0, *cuts]
    chunks = [
        array.slice(before + start, end - start) for start, end in zip(starts, ends, strict=True)
    ]
    return pa.chunked_array(chunks, type)


# -- writers ----------------------------------------------------------------------------------


def _ipc(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _ipc_file(table):
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _feather(table):
    sink = io.BytesIO()
    pa.feather.write_feather(table, sink, compression="uncompressed")
    return sink.getvalue()


def _parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="none")
    return sink.getvalue()


TABLE_WRITERS = {
    "pickle": pickle.dumps,
    "pickle 5": lambda table: pickle.dumps(table, protocol=5),
    "stream": _ipc,
    "file": _ipc_file,
    "feather": _feather,
    "parquet": _parquet,
}


def written(table, writers=TABLE_WRITERS):
    """The bytes of each writer that knows the types."""
    forms = {}
    for name, write in writers.items():
        try:
            forms[name] = write(table)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError, NotImplementedError):
            forms[name] = b""  # the writer does not know the type
    return forms
