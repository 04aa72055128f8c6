"""Reports that are subsets: packed, read back and counted, in every container and file."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from answers import objects
from refusals import refused
from scripted import Counting

import rrstats as rr
from rrstats.data import bitsets
from rrstats.data.bitsets import Subsets, count_supports
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms import SubsetSelection, UnaryEncoding

K, WIDTH = 11, 2
ANSWERS = np.arange(300) % K

UNARY = UnaryEncoding.optimized(range(K), epsilon=1.0)
SELECTION = SubsetSelection(range(K), epsilon=1.0, size=3)
BOTH = pytest.mark.parametrize("mechanism", [UNARY, SELECTION], ids=["unary", "selection"])


def bits_by_hand(reports, k=K):
    """Bit i % 8, the lowest first, of byte i // 8, from bytes objects."""
    return np.array([[report[i // 8] >> (i % 8) & 1 for i in range(k)] for report in reports], bool)


def expected_bits(mechanism):
    """What the same words give in NumPy."""
    return rr.privatize(ANSWERS, mechanism, rng=Counting(1))


@pytest.mark.parametrize("k", [2, 7, 8, 9, 64, 65, 300])
def test_pack_and_unpack_are_inverse(k):
    """Any booleans come back, through bytes of any of the forms."""
    space = Subsets(Categories(range(k)))
    bits = np.random.default_rng(k).random((50, k)) < 0.3
    packed = space.pack(bits)
    assert packed.shape == (50, -(-k // 8))
    assert packed.dtype == np.uint8
    as_bytes = [row.tobytes() for row in packed]
    for form in (bits, bits.astype(int), bits.astype(np.uint8), packed, as_bytes, tuple(as_bytes)):
        assert np.array_equal(bits, space.unpack(form))
    assert np.array_equal(bits, space.unpack(packed.view(f"V{space.width}").ravel()))
    assert np.array_equal(bits, bits_by_hand(as_bytes, k))
    assert np.array_equal(packed, space.pack(bits.astype(np.int8)))


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (np.zeros((3, K + 1), bool), "found bool of shape (3, 12)"),
        (np.zeros(K, bool), "found bool of shape (11,)"),
        (np.full((3, K), 2), "3 of 3 reports are not"),
        ([["a"] * K], "found <U1"),
    ],
)
def test_what_cannot_be_packed(bits, words):
    """Only booleans, or 0 and 1, with a column for each category."""
    with pytest.raises(ArgumentValueError) as caught:
        Subsets(Categories(range(K))).pack(bits)
    assert words in str(caught.value)


@BOTH
def test_numpy_of_any_shape(mechanism):
    """Booleans with one more axis, whatever the type and shape of the answers."""
    whole = expected_bits(mechanism)
    assert (whole.dtype, whole.shape) == (np.dtype(bool), (300, K))
    for answers in (ANSWERS.astype(np.int8), ANSWERS.astype(float), ANSWERS.astype(object)):
        assert np.array_equal(whole, rr.privatize(answers, mechanism, rng=Counting(1)))
    cube = rr.privatize(ANSWERS.reshape(10, 15, 2), mechanism, rng=Counting(1))
    assert np.array_equal(whole.reshape(10, 15, 2, K), cube)
    assert rr.privatize(np.array(3), mechanism).shape == (K,)
    assert rr.privatize(np.empty((0, 4), int), mechanism).shape == (0, 4, K)
    for reports in (whole, cube, whole.astype(int), mechanism.pack(whole)):
        assert rr.tally(reports, mechanism).reported.tolist() == whole.sum(axis=0).tolist()
        assert rr.tally(reports, mechanism).n == 300
    assert rr.tally(whole[0], mechanism).n == 1


@BOTH
def test_lists_tuples_and_scalars(mechanism):
    """Bytes objects, each of the width of the space."""
    whole = expected_bits(mechanism)
    for kind in (list, tuple):
        reports = rr.privatize(kind(ANSWERS.tolist()), mechanism, rng=Counting(1))
        assert type(reports) is kind
        assert {type(report) for report in reports} == {bytes}
        assert np.array_equal(whole, bits_by_hand(reports))
        assert np.array_equal(whole, mechanism.unpack(reports))
        assert rr.tally(reports, mechanism) == rr.tally(whole, mechanism)
    one = rr.privatize(3, mechanism)
    assert (type(one), len(one)) == (bytes, WIDTH)
    assert rr.tally(one, mechanism).n == 1


COLUMNS = {
    "int64": lambda: pd.Series(ANSWERS, name="a", index=np.arange(300) * 2),
    "float": lambda: pd.Series(ANSWERS.astype(float)),
    "object": lambda: pd.Series(objects(ANSWERS.tolist())),
    "Int8": lambda: pd.Series(ANSWERS, dtype="Int8"),
    "category": lambda: pd.Series(pd.Categorical(ANSWERS)),
    "index": lambda: pd.Index(ANSWERS, name="a"),
    "array": lambda: pd.array(ANSWERS, dtype="Int64"),
    "categorical": lambda: pd.Categorical(ANSWERS, categories=range(20)),
}


def packed_dtype():
    """What a column of packed reports is here: Arrow's binary where pyarrow is installed."""
    try:
        import pyarrow as pa
    except ImportError:
        return np.dtype(object)
    return pd.ArrowDtype(pa.binary())


@BOTH
@pytest.mark.parametrize("kind", COLUMNS)
def test_pandas(mechanism, kind):
    """One column of packed bits, of one type for every column that may come in."""
    answers = COLUMNS[kind]()
    reports = rr.privatize(answers, mechanism, rng=Counting(1))
    whole = expected_bits(mechanism)
    # An array of pandas over one of NumPy has a dtype of its own.
    thin = isinstance(reports, pd.arrays.NumpyExtensionArray)
    assert packed_dtype() == (reports.dtype.numpy_dtype if thin else reports.dtype)
    if not isinstance(answers, pd.Categorical) and kind != "array":
        assert type(reports) is type(answers)
        assert reports.name == answers.name
    if isinstance(answers, pd.Series):
        assert reports.index.equals(answers.index)
    assert np.array_equal(whole, bits_by_hand(list(reports)))
    assert np.array_equal(whole, mechanism.unpack(reports))
    assert rr.tally(reports, mechanism) == rr.tally(whole, mechanism)
    # As after a round trip that forgot the type.
    plain = pd.Series(objects(list(reports)))
    assert rr.tally(plain, mechanism) == rr.tally(whole, mechanism)


@BOTH
def test_arrow(mechanism, pa):
    """fixed_size_binary, chunked where the answers were; other binary types are read as well."""
    whole, kind = expected_bits(mechanism), pa.binary(WIDTH)
    array = pa.array(ANSWERS)
    chunked = pa.chunked_array([array[:100], array[100:100], array[100:]])
    counted = rr.tally(whole, mechanism)
    one = rr.privatize(array, mechanism, rng=Counting(1))
    many = rr.privatize(chunked, mechanism, rng=Counting(1))
    assert one.type == many.type == kind
    assert isinstance(one, pa.FixedSizeBinaryArray)
    assert isinstance(many, pa.ChunkedArray)
    one.validate(full=True)
    many.validate(full=True)
    forms = [one, many, one.cast(pa.binary()), one.cast(pa.large_binary()), one.dictionary_encode()]
    for reports in forms:
        assert np.array_equal(whole, mechanism.unpack(reports))
        assert rr.tally(reports, mechanism) == counted
        # Slices begin in the middle of their memory.
        assert np.array_equal(whole[7:250], mechanism.unpack(reports[7:250]))
    assert rr.privatize(pa.scalar(3), mechanism).type == kind
    assert rr.tally(pa.nulls(4), mechanism).n_missing == 4
    assert rr.tally(rr.privatize(pa.array([], pa.int8()), mechanism), mechanism).n == 0
    assert rr.tally(pa.chunked_array([], kind), mechanism).n == 0


def test_the_type_follows_from_declarations():
    """Neither values nor missing answers change a type, and a null stands for nothing else."""
    with_gaps = pd.Series([0.0, np.nan, 99.0, 3.0])
    plain = pd.Series([0.0, 1.0, 2.0, 3.0])
    some, none = (rr.privatize(s, UNARY, unknown="uniform") for s in (with_gaps, plain))
    assert some.dtype == none.dtype == packed_dtype()
    assert not some.isna().any()
    assert rr.privatize(plain[:0], UNARY).dtype == packed_dtype()


def test_missing_answers_kept():
    """Left missing in pandas, Arrow and lists, apart in the tally; NumPy cannot hold them."""
    answers = [3, None, 99, 5]
    reports = rr.privatize(answers, UNARY, missing="keep", unknown="uniform")
    assert [report is None for report in reports] == [False, True, False, False]
    column = rr.privatize(
        pd.Series(answers, dtype=object), UNARY, missing="keep", unknown="uniform"
    )
    assert column.isna().tolist() == [False, True, False, False]
    for found in (reports, column):
        assert (rr.tally(found, UNARY).n, rr.tally(found, UNARY).n_missing) == (3, 1)
        assert UNARY.unpack(found)[1].tolist() == [False] * K
    scores = rr.estimators.debias_reports(reports, UNARY)
    assert np.isnan(scores).all(axis=1).tolist() == [False, True, False, False]
    for numbers in (np.array([1.0, 2.0]), np.array([1.0, np.nan]), np.array([1, 2])):
        with pytest.raises(ArgumentTypeError, match="boolean arrays of NumPy"):
            rr.privatize(numbers, UNARY, missing="keep")


def test_missing_answers_kept_in_arrow(pa):
    """Nulls, and nothing of the report under them."""
    many = pa.chunked_array([pa.array([1, None]), pa.array([None, 4])])
    for answers in (pa.array([1, None, None, 4]), many):
        reports = rr.privatize(answers, UNARY, missing="keep")
        assert reports.is_null().to_pylist() == [False, True, True, False]
        assert rr.tally(reports, UNARY).n_missing == 2
    one = rr.privatize(pa.array([1, None]), UNARY, missing="keep")
    one.validate(full=True)
    assert one.buffers()[1].to_pybytes()[WIDTH:] == bytes(WIDTH)


@pytest.mark.parametrize("missing", ["unknown", "keep"])
def test_as_many_arrays_of_arrow_as_it_takes(monkeypatch, missing, pa):
    """A column of pandas with more bytes than one array can count has several."""
    answers = pd.Series([*ANSWERS.tolist(), None], dtype="Int64")
    made = [rr.privatize(answers, UNARY, missing=missing, unknown="uniform", rng=Counting(1))]
    monkeypatch.setattr(bitsets, "_MAX_BINARY_BYTES", 15)
    made.append(rr.privatize(answers, UNARY, missing=missing, unknown="uniform", rng=Counting(1)))
    one, several = made
    assert [1, 43] == [column.array.__arrow_array__().num_chunks for column in made]
    several.array.__arrow_array__().validate(full=True)
    pd.testing.assert_series_equal(one, several)
    assert rr.tally(one, UNARY) == rr.tally(several, UNARY)
    assert (missing == "keep") == several.isna().any()


def test_without_pyarrow():
    """pandas columns are objects of bytes, and read back, where pyarrow cannot be imported."""
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pyarrow' else find(name, *rest)\n"
        "import pandas as pd, rrstats as rr\n"
        "m = rr.mechanisms.UnaryEncoding.optimized(range(11), epsilon=1.0)\n"
        "reports = rr.privatize(pd.Series([1, 2, None], dtype=object), m, missing='keep')\n"
        "assert reports.dtype == object and type(reports[0]) is bytes and reports[2] is None\n"
        "print(rr.tally(reports, m).n, rr.tally(reports, m).n_missing)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "1"]


@BOTH
def test_reports_that_went_through_text(tmp_path, mechanism):
    """CSV makes words of bytes: refused, with the formats that hold them, and no word quoted."""
    frame = pd.DataFrame({"answer": ANSWERS})
    frame.rr.privatize({"answer": mechanism}).to_csv(tmp_path / "made.csv", index=False)
    read = pd.read_csv(tmp_path / "made.csv")["answer"]
    assert read[0].startswith("b'") or read[0].startswith('b"')
    forms = [read, read.astype("category"), read.tolist(), read.to_numpy().astype(str)]
    for reports in forms:
        for ask in (rr.tally, rr.estimate, lambda r, m: m.unpack(r)):
            with pytest.raises(ArgumentTypeError) as caught:
                ask(reports, mechanism)
            assert "CSV and other text cannot hold packed reports" in str(caught.value)
            assert "Parquet and Feather files can" in str(caught.value)
            assert read[0] not in str(caught.value)


GOOD = bytes([0b101, 0b1])

IMPOSSIBLE = {
    "too short": (UNARY, b"a"),
    "too long": (UNARY, b"abc"),
    "a bit behind the last category": (UNARY, bytes([0, 0b1000])),
    "no bytes": (UNARY, "ab"),
    "a number": (UNARY, 3),
    "too few of a fixed size": (SELECTION, bytes([0b11, 0])),
    "too many of a fixed size": (SELECTION, bytes([0b1111, 0])),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_impossible_reports_are_counted(what):
    """Each is refused, with how many there are; missing ones are apart; none is quoted."""
    mechanism, wrong = IMPOSSIBLE[what]
    for reports in (
        [GOOD, wrong, None, wrong],
        pd.Series([GOOD, wrong, None, wrong], dtype=object),
    ):
        for ask in (rr.tally, lambda r, m: m.unpack(r), rr.estimate):
            with pytest.raises(ArgumentValueError) as caught:
                ask(reports, mechanism)
            assert "2 of 4 reports are not" in str(caught.value)
        refused(ArgumentValueError, "2 of 4", rr.estimators.debias_reports, reports, mechanism)


def test_impossible_reports_in_arrays():
    """Numbers other than 0 and 1, bytes that are no booleans, and packed bytes with spare bits."""
    bits = UNARY.unpack([GOOD] * 4)
    numbers = bits.astype(int)
    numbers[1, 0], numbers[2, 3] = 2, -1
    odd = bits.astype(np.uint8)
    odd[3, 5] = 2
    packed = UNARY.pack(bits)
    packed[0, 1] = 255
    for reports, wrong in ((numbers, 2), (odd, 1), (odd.view(bool), 1), (packed, 1)):
        refused(ArgumentValueError, f"{wrong} of 4 reports", rr.tally, reports, UNARY)
    refused(ArgumentTypeError, "binary of 2 bytes", rr.tally, np.array([b"abc"] * 4), UNARY)
    # Text of NumPy drops zeros at its end when asked for a value; the bytes are read instead.
    assert rr.tally(np.array([b"\1", b"\0"], dtype="S2"), UNARY).reported.tolist() == [1] + [0] * 10


def test_impossible_reports_in_arrow(pa):
    """Of another width, or with spare bits; slices and nulls are no trouble."""
    cells = pa.array([GOOD, b"abc", None, b"", GOOD], pa.binary())
    for reports in (cells, cells.cast(pa.large_binary()), cells.dictionary_encode()):
        refused(ArgumentValueError, "2 of 5 reports", rr.tally, reports, UNARY)
        assert rr.tally(reports[4:], UNARY).n == 1
        assert rr.tally(reports[2:3], UNARY).n_missing == 1
    refused(ArgumentValueError, "1 of 1 reports", rr.tally, pa.array([b"abc"], pa.binary(3)), UNARY)


@pytest.mark.parametrize(
    "reports",
    [
        np.zeros((3, K + 1), bool),
        np.zeros((3, K)),
        np.arange(3),
        np.array(["ab", "cd"]),
        pd.Series([1, 2, 3]),
        pd.Series(["ab", "cd"], dtype="string"),
        pd.Series([True, False]),
        pd.Series([1, 2], dtype="Int64"),
    ],
    ids=lambda r: str(r.dtype),
)
def test_other_types_are_refused(reports):
    """What cannot be such reports by its type alone: true answers, above all."""
    with pytest.raises(ArgumentTypeError) as caught:
        rr.tally(reports, UNARY)
    assert "reports" in str(caught.value)


@pytest.mark.parametrize("k", [2, 8, 13, 100, 1000, 5000])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 191, 193, 1000, 4099])
def test_counts_equal_the_plain_sum(k, rows):
    """Adding bits of many rows at once gives the sums of the columns, also of every other row."""
    rng = np.random.default_rng(rows)
    codes = rng.integers(0, 256, (rows, -(-k // 8)), dtype=np.uint8)
    bits = np.unpackbits(codes, axis=1, bitorder="little")[:, :k]
    assert count_supports(codes, k).tolist() == bits.sum(axis=0, dtype=int).tolist()
    assert count_supports(codes[::2], k).tolist() == bits[::2].sum(axis=0, dtype=int).tolist()
    assert count_supports(np.full_like(codes, 255), k).tolist() == [rows] * k


def test_counts_in_parts(monkeypatch):
    """Where parts end does not matter."""
    codes = np.random.default_rng(1).integers(0, 256, (2000, 5), dtype=np.uint8)
    whole = count_supports(codes, 40)
    monkeypatch.setattr(bitsets, "_BLOCK_BYTES", 64)
    assert np.array_equal(whole, count_supports(codes, 40))
    assert np.array_equal(UNARY.unpack([GOOD] * 99), np.tile(bits_by_hand([GOOD]), (99, 1)))


@BOTH
@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_files(tmp_path, mechanism, ending, pa):
    """A column of fixed-size binary, counted and estimated by what the file says of itself."""
    import pyarrow.feather as feather
    import pyarrow.parquet as pq
    from file_samples import simulate_file

    read = pq.read_table if ending == ".parquet" else feather.read_table
    source, target = tmp_path / f"source{ending}", tmp_path / f"target{ending}"
    frame = pd.DataFrame({"id": range(300), "answer": ANSWERS, "x": 0.5})
    (frame.to_parquet if ending == ".parquet" else frame.to_feather)(source)
    receipt = simulate_file(source, target, {"answer": mechanism}, rng=Counting(1))
    table = read(target)
    assert receipt.rows == 300
    assert table.column("answer").type == pa.binary(WIDTH)
    assert table.column("id").to_pylist() == list(range(300))
    reports = mechanism.unpack(table.column("answer"))
    assert np.array_equal(expected_bits(mechanism), reports)
    counted = rr.files.tally_file(target, "answer")
    assert counted == rr.tally(reports, mechanism)
    estimate = rr.files.estimate_file(target)["answer"]
    assert np.array_equal(rr.estimate(reports, mechanism).proportions, estimate.proportions)
    (record,) = rr.files.describe_file(target)
    assert record.resolve() == mechanism
    page = rr.files.statement_of(target)
    assert "names, possibly among others," in page
    # pandas reads it, and estimates from it.
    again = pd.read_parquet(target) if ending == ".parquet" else pd.read_feather(target)
    assert rr.tally(again["answer"], mechanism) == counted
    assert again.columns.tolist() == ["id", "answer", "x"]


@BOTH
@pytest.mark.parametrize("missing", ["unknown", "keep"])
def test_pandas_reads_what_it_wrote(tmp_path, mechanism, missing, pa):
    """A privatized frame goes through pandas' files and Arrow's tables, and is estimated then."""
    answers = [*ANSWERS.tolist(), None] if missing == "keep" else ANSWERS.tolist()
    frame = pd.DataFrame({"answer": pd.array(answers, dtype="Int64")})
    made = frame.rr.privatize({"answer": mechanism}, missing=missing)
    parquet, feather = tmp_path / "made.parquet", tmp_path / "made.feather"
    made.to_parquet(parquet)
    made.to_feather(feather)
    backends = ("pyarrow", "numpy_nullable")
    again = {
        "parquet": pd.read_parquet(parquet),
        "feather": pd.read_feather(feather),
        "table": pa.Table.from_pandas(made).to_pandas(),
        "converted": made.convert_dtypes(dtype_backend="pyarrow"),
        **{backend: pd.read_parquet(parquet, dtype_backend=backend) for backend in backends},
    }
    expected = rr.estimate(made["answer"])
    assert (expected.n, expected.n_missing) == (300, len(answers) - 300)
    for how, read in again.items():
        found = rr.estimate(read["answer"], mechanism)
        assert np.array_equal(expected.proportions, found.proportions), how
        assert (expected.n, expected.n_missing) == (found.n, found.n_missing), how
        assert packed_dtype() == read["answer"].dtype, how


TEXT_COLUMNS = {
    "string": lambda pa: pa.string(),
    "large string": lambda pa: pa.large_string(),
    "dictionary": lambda pa: pa.dictionary(pa.int32(), pa.string()),
}


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("kind", TEXT_COLUMNS)
def test_pandas_reads_files_that_were_columns_of_arrow(tmp_path, kind, ending, pa):
    """What a file says of a column of text in Arrow makes no trouble for the bits in its place."""
    dtype = pd.ArrowDtype(TEXT_COLUMNS[kind](pa))
    mechanism = UnaryEncoding.optimized(list("abcdefghijk"), epsilon=1.0)
    source, target = tmp_path / f"source.{ending}", tmp_path / f"target.{ending}"
    frame = pd.DataFrame({"answer": pd.Series(list("abcdefghijk") * 9, dtype=dtype)})
    getattr(frame, f"to_{ending}")(source)
    rr.files.privatize_file(source, target, {"answer": mechanism})
    read = getattr(pd, f"read_{ending}")(target)
    assert packed_dtype() == read["answer"].dtype
    assert rr.estimate(read["answer"], mechanism).n == 99
    assert rr.files.tally_file(target, "answer") == rr.tally(read["answer"], mechanism)
    # And so on, in pandas' own files.
    getattr(read, f"to_{ending}")(tmp_path / "again")
    again = getattr(pd, f"read_{ending}")(tmp_path / "again")
    assert rr.tally(again["answer"], mechanism) == rr.files.tally_file(target, "answer")


def test_missing_reports_in_files(tmp_path, pa):
    """Kept missing answers are nulls, also where the column says that it has none."""
    import pyarrow.parquet as pq

    source, target = tmp_path / "source.parquet", tmp_path / "target.parquet"
    pq.write_table(pa.table({"answer": pa.array([1, None, 3, 99])}), source)
    plan = {"v": 1, "columns": [{"name": "answer", "mechanism": UNARY.to_dict(),
                                 "unknown": "uniform", "missing": "keep"}]}  # fmt: skip
    rr.files.privatize_file(source, target, plan)
    assert pq.read_table(target).column("answer").null_count == 1
    counted = rr.files.tally_file(target, "answer")
    assert (counted.n, counted.n_missing) == (3, 1)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_text_files_are_refused(tmp_path, ending, pa):
    """Words cannot hold bits: refused before anything is written, with what would serve."""
    source, target = tmp_path / f"source{ending}", tmp_path / f"target{ending}"
    separator = "\t" if ending == ".tsv" else ","
    pd.DataFrame({"id": [1, 2], "answer": [3, 4]}).to_csv(source, index=False, sep=separator)
    before = set(tmp_path.iterdir())
    for ask in (
        lambda: rr.files.privatize_file(source, target, {"answer": UNARY}),
        lambda: rr.files.tally_file(source, "answer", UNARY),
    ):
        refused(ArgumentTypeError, "use Parquet or Feather", ask)
    assert set(tmp_path.iterdir()) == before
