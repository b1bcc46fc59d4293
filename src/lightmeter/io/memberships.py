"""Memberships in the forms of evaluation campaigns: NTCIREVAL ``.gmemb``, per-intent gains, TREC Fair annotations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.attributes import Options, build_attribute
from lightmeter.io.binning import order_values
from lightmeter.io.checks import UNKNOWN, drop_repeats, fault, first, numbers
from lightmeter.io.sources import add_counts, one_file
from lightmeter.io.tables import AttributeTable, Source
from lightmeter.io.text import read_lines, row_lines
from lightmeter.io.trec import exact_fields

GMEMB_FILE = "lines 'query doc p1 p2 .. pc', the shares of c values that sum to 1"
GAINS_FILE = "lines 'query intent doc gain'"
#: what no document is called
HEADERS = ("doc", "docid", "doc_id", "docno", "document", "document_id", "id", "item", "item_id")
ANNOTATIONS_FILE = "lines 'doc,value,value,..' without a header"


def read_gmemb(name: str, path: str, options: Options) -> AttributeTable:
    """NTCIREVAL soft membership: ``query doc p1 .. pc``; values are named 1 to c and ordinal; shares are used as
    given.
    """
    path = one_file(path, "groups")
    _no_declaration(name, path, "--ordinal", options.ordinal, "values 1 to c are ordinal as they stand")
    _no_declaration(name, path, "--bins", options.bins, "memberships are shares, not numbers to be binned")
    width = _width(path)
    fields = exact_fields(path, width, width, f"{GMEMB_FILE}; the first line has {width - 2}")
    source = fields.source
    shares = [
        numbers(fields.frame[f"f{i}"], f"share of value {i - 1}", source, least=0.0, named=False)
        for i in range(2, width)
    ]
    total = np.sum([s.to_numpy() for s in shares], axis=0)
    if (row := first(np.abs(total - 1) > 1e-3 + 1e-12)) is not None:
        raise fault(
            f"the shares sum to {total[row]:.6g}",
            source,
            row,
            accepted="shares that sum to 1 within 0.001; they are used as given, never rescaled",
        )
    cells = _joined(shares)
    frame = pl.DataFrame({"query": fields.frame["f0"], "doc": fields.frame["f1"], "_shares": cells}).with_columns(
        *(s.alias(f"p{i}") for i, s in enumerate(shares))
    )
    kept, repeated = drop_repeats(frame, ["query", "doc"], "_shares", source, "shares")
    weights = pl.concat(
        [
            kept.select("doc", pl.lit(i, pl.Int32).alias("value"), pl.col(f"p{i}").alias("weight"), "query")
            for i in range(width - 2)
        ]
    )
    values = tuple(str(i) for i in range(1, width - 1))
    return AttributeTable(
        name,
        source,
        values,
        "soft",
        True,
        weights.filter(pl.col("weight") > 0),
        add_counts(fields.ignored, {"repeated documents": repeated}),
    )


def _no_declaration(name: str, path: str, flag: str, declared: Mapping[str, object], why: str) -> None:
    if name in declared:
        raise InputError(f"{flag} was given for {name!r}", where=path, accepted=why, hint=f"Leave out {flag} {name}=..")


def _joined(shares: list[pl.Series]) -> pl.Series:
    return (
        pl.DataFrame({f"p{i}": s for i, s in enumerate(shares)})
        .select(pl.concat_str(pl.all().cast(pl.String), separator=" "))
        .to_series()
    )


def _width(path: str) -> int:
    lines = read_lines(path)
    rows = row_lines(lines, 0)
    if not len(rows):
        raise InputError("the file has no data lines", where=path, accepted=GMEMB_FILE)
    width = len(str(lines[int(rows[0]) - 1]).split())
    if width < 3:
        raise InputError(f"{width} fields", where=path, line=int(rows[0]), accepted=GMEMB_FILE)
    return width


def read_gains(name: str, path: str, options: Options) -> AttributeTable:
    """Soft membership from gains per intent: 3, 1, 0 become 3/4, 1/4, 0; all 0 is unknown."""
    path = one_file(path, "groups")
    _no_declaration(name, path, "--bins", options.bins, "memberships are shares, not numbers to be binned")
    fields = exact_fields(path, 4, 4, GAINS_FILE)
    source = fields.source
    if (row := first(fields.frame["f1"] == UNKNOWN)) is not None:
        raise fault(
            f"gains for the intent {UNKNOWN!r}, which is no value",
            source,
            row,
            accepted="gains for known intents; a document without any gain is unknown",
        )
    gain = numbers(fields.frame["f3"], "gain", source, least=0.0, named=False)
    frame = pl.DataFrame(
        {"query": fields.frame["f0"], "doc": fields.frame["f2"], "intent": fields.frame["f1"], "gain": gain}
    )
    frame, repeated = drop_repeats(frame, ["query", "doc", "intent"], "gain", source, "gain")
    declared = options.ordinal.get(name)
    values = order_values(fields.frame["f1"], declared, source, name)
    share = frame.with_columns(
        (pl.col("gain") / pl.col("gain").sum().over("query", "doc")).alias("weight"),
        pl.col("intent").cast(pl.Enum(values)).to_physical().cast(pl.Int32).alias("value"),
    )
    known = share.filter(pl.col("gain") > 0).select("doc", "value", "weight", "query")
    pairs, some = frame.select("query", "doc").n_unique(), known.select("query", "doc").n_unique()
    notes = (f"{pairs - some} documents have no gain for any intent: unknown",) if pairs > some else ()
    return AttributeTable(
        name,
        source,
        values,
        "soft",
        declared is not None,
        known,
        add_counts(fields.ignored, {"repeated gains": repeated}),
        notes,
    )


def read_annotations(name: str, path: str, options: Options) -> AttributeTable:
    """TREC Fair author annotations, ``doc,v1,v2,..`` with a value for each author: the distinct values of each
    document. Empty cells among values are passed over and counted.
    """
    path = one_file(path, "groups")
    lines = read_lines(path)
    rows = row_lines(lines, 0)
    if not len(rows):
        raise InputError("the file has no data lines", where=path, accepted=ANNOTATIONS_FILE)
    source = Source(path, (path,), lambda row: (path, int(rows[row])))
    text = lines.gather(rows - 1).str.strip_chars(" \t\r\n")
    split = text.str.splitn(",", 2).struct.unnest()
    doc = split.to_series(0).str.strip_chars(" \t")
    if (row := first(doc.str.len_bytes() == 0)) is not None:
        raise fault("the document id is missing", source, row, accepted=ANNOTATIONS_FILE)
    if doc[0].lower() in HEADERS:
        raise fault(
            f"the first line ({text[0]!r}) is a header",
            source,
            0,
            accepted=ANNOTATIONS_FILE,
            hint="Remove the first line; a table with a header is read as it is, without ':annotations'",
        )
    if (row := first(text.str.contains('"', literal=True))) is not None:
        raise fault("a double quote", source, row, accepted=ANNOTATIONS_FILE + " and without quotes")
    barred = split.to_series(1).str.strip_chars(" \t").str.replace_all(r"[ \t]*,[ \t]*", "|").rename(name)
    cells = barred.str.replace_all(r"\|{2,}", "|").str.strip_chars("|")
    cells = cells.set((cells == "").fill_null(False), None)
    lost = barred.str.len_bytes() - cells.str.len_bytes()
    if cells.null_count() == len(cells):
        raise InputError("no document has a value", where=path, line=int(rows[0]), accepted=ANNOTATIONS_FILE)
    table = build_attribute(cells, pl.DataFrame({"doc": doc}), source, options, text=True)
    if table is None:
        raise InputError("no document has a value", where=path, accepted=ANNOTATIONS_FILE)
    unknown = len(cells) - cells.is_not_null().sum()
    notes = (f"{unknown} documents have no annotation: unknown",) if unknown else ()
    blank = {"blank lines": len(lines) - len(rows), "empty cells among values": int(lost.sum())}
    return AttributeTable(
        name, source, table.values, "multi", table.ordinal, table.frame, add_counts(table.ignored, blank), notes
    )
