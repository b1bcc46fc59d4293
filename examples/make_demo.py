"""Make the demo collection: a synthetic job-market search, written byte for byte the same every time.

Usage: ``python examples/make_demo.py [FOLDER]`` (default: the package's own data folder). What each file holds, and
why it is as it is, is said in the README.txt that is written beside the files.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import polars as pl

SEED = 2022  # of four tried, the one with women nearest 40% of every grade and the sectors in the order of PENALTY
HERE = Path(__file__).resolve().parent.parent / "src" / "lightmeter" / "demo"

PEOPLE, PER_QUERY, FROM_SECTOR, SAMPLES = 900, 100, 80, 10
LEVELS = ("junior", "mid", "senior")
LEVEL_COUNTS = (315, 360, 225)
TARGETS = {"gender": {"f": 0.5, "m": 0.5}, "seniority": {"junior": 0.35, "mid": 0.4, "senior": 0.25}}

# How much a woman of equal grade loses in the run 'relevant', in grades, by sector.
PENALTY = {"software": 1.1, "finance": 1.0, "logistics": 0.8, "education": 0.6, "health": 0.3}

TITLES = {
    "software": (
        "Backend developer",
        "Senior data engineer",
        "Junior web developer",
        "Site reliability engineer",
        "Lead mobile developer",
        "Test engineer",
        "Machine learning engineer",
        "Trainee systems administrator",
        "Security analyst",
        "Senior database developer",
    ),
    "finance": (
        "Junior accountant",
        "Financial controller",
        "Senior auditor",
        "Credit analyst",
        "Payroll specialist",
        "Assistant tax adviser",
        "Head of treasury",
        "Insurance underwriter",
        "Risk manager",
        "Trainee bank clerk",
    ),
    "logistics": (
        "Warehouse supervisor",
        "Truck dispatcher",
        "Junior freight forwarder",
        "Senior supply chain planner",
        "Customs specialist",
        "Fleet manager",
        "Assistant buyer",
        "Inventory analyst",
        "Lead route planner",
        "Port operations clerk",
    ),
    "education": (
        "Primary school teacher",
        "Senior lecturer in chemistry",
        "Trainee preschool teacher",
        "School librarian",
        "Teacher of mathematics",
        "Head of a language school",
        "Assistant in special education",
        "Vocational trainer",
        "Curriculum designer",
        "Student counsellor",
    ),
    "health": (
        "Staff nurse, night shifts",
        "Senior physiotherapist",
        "Assistant pharmacist",
        "Medical laboratory technician",
        "Head midwife",
        "Paramedic",
        "Junior radiographer",
        "Dental hygienist",
        "Care home manager",
        "Occupational therapist",
    ),
}

README = """\
A SYNTHETIC collection: job advertisements and candidates
=========================================================

Nothing here is about a real person, advertisement, firm or search engine. Every number was drawn by a program
(examples/make_demo.py in the repository; fixed seed; running it again gives the same files). It shows what lightmeter
measures, and it proves nothing about the world: "f" and "m" and the unfairness between them were put in by hand, and
the seed is the one of four that shows it most plainly.

queries.csv       50 job advertisements: query, title, segment (the sector; ten in each of five)
qrels.txt         all 100 candidates of each query, graded 0 to 3, TREC form. Grades were drawn without looking at
                  gender: in each sector women and men are equally skilled. 2 to 6 candidates of a query have grade 3
groups.csv        the 900 people behind the candidates: doc, gender (f 350, m 525, empty = unknown 25),
                  seniority (junior, mid, senior: ordered, so pass --ordinal seniority=junior,mid,senior)
targets.csv       the shares of attention asked for: attribute, value, share
relevant.run.gz   a ranker that knows the grades well and marks women down: a woman loses 0.3 (health) to 1.1 (software)
                  grades against a man who is as good. It also likes seniority a little
fairer.run.gz     a ranker that knows the grades a little less well, blind to gender. It answers each query with 10
                  rankings (column 2 is the sample): candidates of about equal score take turns at the top, and in each
                  ranking the next place goes to the gender that is furthest behind its target share
baseline.run.gz   term matching: noisy scores, mildly against women

The runs are gzipped TREC files of six columns (query, sample or Q0, document, rank, score, run). Each ranks all 100
candidates of every query, and people come back in several queries.

Why these targets. The gender target is one half each, though 40% of the people with known gender are women: it stands
for a policy, an even-handed shortlist, and not for a count of who applied. It also treats the genders alike: under
a target of 40% and 60% a list that opens with one man is nearer to the target than one that opens with one woman.
The seniority target is the pool's share of each level. To measure against the pool on gender too, use target='pool'.

What to look for. 'relevant' wins on nDCG and ERR, and its top ten has few women, fewest in software and finance.
'fairer' gives up a little relevance for an even-handed top ten, and nearly halves the expected exposure loss (EEL),
because candidates of one grade take turns: no ranker that always answers with the same list can do that. Fairness has
more than one meaning, and here two of them pull apart: half of the attention for 40% of the people is more attention
per woman than per man. ABR and the exposure ratios of 'fairer' show it.
"""


def level_of(title: str) -> int:
    """The level an advertisement asks for, read from its title."""
    words = set(title.split())
    return 2 if words & {"Senior", "Head", "Lead"} else 0 if words & {"Junior", "Trainee", "Assistant"} else 1


def ordered(scores: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Positions by score descending, ties by id descending, as trec_eval reads a run."""
    return np.lexsort((ids, scores))[::-1]


def alternate(order: np.ndarray, gender: np.ndarray, rng: np.random.RandomState) -> list[int]:
    """Reorder so that each next place goes to the gender furthest behind its target; unknown may fill any place."""
    left, counts, out = list(order), {"f": 0.0, "m": 0.0}, []
    while left:
        due = {g: TARGETS["gender"][g] * (len(out) + 1) - counts[g] for g in counts}
        first = (
            "f"
            if due["f"] > due["m"] + 1e-9 or (abs(due["f"] - due["m"]) < 1e-9 and rng.random_sample() < 0.5)
            else "m"
        )
        pick = next((i for i in left if gender[i] in ("", first)), left[0])
        left.remove(pick)
        out.append(pick)
        for g in counts:
            counts[g] += 1.0 if gender[pick] == g else 0.5 if gender[pick] == "" else 0.0
    return out


def make_people(rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sector, skill, gender and level of each person; gender is balanced along skill within every sector."""
    sector = np.repeat(np.arange(len(TITLES)), PEOPLE // len(TITLES))
    skill = rng.standard_normal(PEOPLE)
    gender = np.empty(PEOPLE, dtype="<U1")
    block = ["f", "f", "m", "m", "m"]
    for s in range(len(TITLES)):
        members = np.flatnonzero(sector == s)
        members = members[np.argsort(skill[members])]
        gender[members] = np.concatenate([rng.permutation(block) for _ in range(len(members) // len(block))])
    for value, count in (("f", 10), ("m", 15)):
        gender[rng.permutation(np.flatnonzero(gender == value))[:count]] = ""
    level = rng.permutation(np.repeat(np.arange(3), LEVEL_COUNTS))
    shuffle = rng.permutation(PEOPLE)  # so that an id says nothing about the person
    return sector[shuffle], skill[shuffle], gender[shuffle], level[shuffle]


def run_lines(query: str, sample: str, ids: np.ndarray, scores: list[str], run: str) -> list[str]:
    return [
        f"{query} {sample} {doc} {rank} {s} {run}" for rank, (doc, s) in enumerate(zip(ids, scores, strict=True), 1)
    ]


def make(folder: Path) -> None:
    """Write the collection into ``folder``."""
    rng = np.random.RandomState(SEED)  # its stream is frozen for ever, unlike that of numpy's newer generators
    ids = np.array([f"c{i:04d}" for i in range(1, PEOPLE + 1)])
    sector, skill, gender, level = make_people(rng)

    sectors = list(TITLES)
    ads = [(title, s) for titles in zip(*TITLES.values(), strict=True) for s, title in enumerate(titles)]
    queries = [f"q{i:02d}" for i in range(1, len(ads) + 1)]
    qrels: list[str] = []
    runs: dict[str, list[str]] = {"relevant": [], "fairer": [], "baseline": []}
    for query, (title, s) in zip(queries, ads, strict=True):
        own, other = np.flatnonzero(sector == s), np.flatnonzero(sector != s)
        who = np.sort(
            np.concatenate([rng.permutation(own)[:FROM_SECTOR], rng.permutation(other)[: PER_QUERY - FROM_SECTOR]])
        )
        docs, women = ids[who], gender[who] == "f"

        fit = 1.5 * (sector[who] == s) + 0.6 * skill[who] - 0.5 * np.abs(level[who] - level_of(title))
        best = np.argsort(-(fit + 0.8 * rng.standard_normal(PER_QUERY)))
        grade = np.zeros(PER_QUERY, dtype=int)
        for g, n in ((3, rng.randint(2, 7)), (2, rng.randint(6, 13)), (1, rng.randint(12, 23))):
            grade[best[:n]], best = g, best[n:]
        qrels += [f"{query} 0 {d} {g}" for d, g in zip(docs, grade, strict=True)]

        noise = rng.standard_normal((3, PER_QUERY))
        score = grade + 0.5 * noise[0] - PENALTY[sectors[s]] * women + 0.3 * level[who]
        score = np.round(score, 3)
        order = ordered(score, docs)
        runs["relevant"] += run_lines(query, "Q0", docs[order], [f"{v:.3f}" for v in score[order]], "relevant")

        score = np.round(12 + 2 * (0.8 * grade + 1.1 * noise[2] - 0.25 * women), 3)
        order = ordered(score, docs)
        runs["baseline"] += run_lines(query, "Q0", docs[order], [f"{v:.3f}" for v in score[order]], "baseline")

        score = grade + 0.55 * noise[1]
        for sample in range(1, SAMPLES + 1):
            gumbel = -np.log(-np.log(1 - rng.random_sample(PER_QUERY)))
            order = alternate(ordered(np.round(score + 0.3 * gumbel, 6), docs), gender[who], rng)
            runs["fairer"] += run_lines(
                query, str(sample), docs[order], [str(PER_QUERY - i) for i in range(PER_QUERY)], "fairer"
            )

    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in runs.items():
        data = "\n".join([*lines, ""]).encode("ascii")
        (folder / f"{name}.run.gz").write_bytes(gzip.compress(data, compresslevel=9, mtime=0))
    (folder / "qrels.txt").write_bytes("\n".join([*qrels, ""]).encode("ascii"))
    (folder / "README.txt").write_bytes(README.encode("ascii"))
    named = [LEVELS[i] for i in level]
    tables = {
        "queries": pl.DataFrame(
            {"query": queries, "title": [t for t, _ in ads], "segment": [sectors[s] for _, s in ads]}
        ),
        "groups": pl.DataFrame({"doc": ids, "gender": [g or None for g in gender.tolist()], "seniority": named}),
        "targets": pl.DataFrame(
            [(a, v, share) for a, shares in TARGETS.items() for v, share in shares.items()],
            schema=["attribute", "value", "share"],
            orient="row",
        ),
    }
    for name, table in tables.items():
        (folder / f"{name}.csv").write_bytes(table.write_csv().encode("ascii"))


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
