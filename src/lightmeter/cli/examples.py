"""What stands below the help of the commands: examples, and exit codes."""

from __future__ import annotations

_CODES = "Exit code: 0 done; 2 the input is wrong; 130 interrupted; 1 a defect."
_GATED = "Exit code: 0 done; 2 the input is wrong; 3 a --fail-if holds; 130 interrupted; 1 a defect."

EVALUATE = f"""Examples:

\b
  lightmeter evaluate run.txt --qrels qrels.txt -m nDCG@10 -m AP
  lightmeter evaluate a.run b.run --qrels qrels.txt --groups groups.csv \\
      -m "GF(by='gender')@20" -f jsonl
  lightmeter evaluate log.csv --columns query=qid,doc=item,score=p \\
      -m "ABR(by='brand')" --fail-if "ABR(by='brand') < 0.8"

{_GATED} In csv a text that a
spreadsheet would compute (it begins with =) gets an apostrophe before it; jsonl and parquet have it as it stands.
"""

COMPARE = f"""Examples:

\b
  lightmeter compare a.run b.run c.run --qrels qrels.txt -m nDCG@10 -m AP
  lightmeter compare old=a.run new=b.run --qrels qrels.txt --groups groups.csv \\
      -m nDCG@10 -m "GF(by='gender')@20" --test randomization --baseline old
  lightmeter compare old=a.run new=b.run --qrels qrels.txt -m nDCG@10 --fail-if "nDCG@10 < 0.3"

{_GATED}
"""

SWEEP = f"""Examples:

\b
  lightmeter sweep run.txt --qrels qrels.txt
  lightmeter sweep a.run b.run --qrels qrels.txt --groups groups.csv --by gender \\
      --policy PlackettLuce --policy RankTransposition --user "RBP(p=0.8)" --depth 50
  lightmeter sweep run.txt --qrels qrels.txt -f jsonl -o curves.jsonl --report sweep.html

{_CODES}
"""

ATTENTION = f"""Examples:

\b
  lightmeter attention clicks.csv
  lightmeter attention clicks.csv --method pbm --depth 20 --rng 1 -f csv
  lightmeter attention clicks.csv --columns query=qid,doc=item,rank=position -o attention.csv

{_CODES}
"""

SAMPLE = f"""Examples:

\b
  lightmeter sample run.txt --policy "PlackettLuce(alpha=1)" --samples 20 -o drawn.run
  lightmeter sample run.txt --policy Oracle --qrels qrels.txt --depth 100 --rng 7 -o oracle.csv.gz

{_CODES}
"""

RERANK = f"""Examples:

\b
  lightmeter rerank run.txt --method "DetConstSort(by='gender')@20" --groups groups.csv \\
      --qrels qrels.txt -o fairer.run
  lightmeter rerank run.txt --method "FairTopK(by='gender', protected='f', p=0.4)@10" \\
      --groups groups.csv -m "Share(by='gender')@10" --strict -o fairer.run
  lightmeter rerank run.txt --method ExposureOptimal --qrels qrels.txt -o policy.csv
  lightmeter evaluate policy.csv --policy "Samples(weight='probability')" --qrels qrels.txt -m EEL

{_CODES}
"""
