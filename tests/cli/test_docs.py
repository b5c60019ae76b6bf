"""docs/cli.md shows what the commands really print; only digits and the bars of the chart may differ elsewhere.

``KEYHOLE_WRITE_DOCS=1 pytest tests/cli/test_docs.py`` writes what they print now into the page.
"""

import os
import re
import shlex
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def masked(text):
    """The words, whatever the numbers and the line breaks."""
    return " ".join(re.sub(r"[▁-█]+", "", re.sub(r"\d+", "0", text)).split())


def test_every_example_on_the_page_prints_what_the_page_says(tmp_path, run):
    page = PAGE.read_text(encoding="utf-8")
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {})  # noqa: S102  (the page is ours)
    seen = set()

    def print_now(example):
        program, *words = shlex.split(example[1])
        seen.add(words[0])
        if program == "keyhole":
            outcome = run(*words)
            return f"$ {example[1]}\n{outcome.out}{outcome.err}"
        count, file = words  # of `head -count file`
        return f"$ {example[1]}\n" + "".join((tmp_path / file).read_text().splitlines(keepends=True)[: -int(count)])

    now = re.sub(r"^\$ (.*)\n(?:(?!\$ |```).*\n)*", print_now, page, flags=re.MULTILINE)

    assert seen >= {"fit", "predict", "show", "plan", "demo"}
    if "KEYHOLE_WRITE_DOCS" in os.environ:
        PAGE.write_text(now, encoding="utf-8")
    assert masked(PAGE.read_text(encoding="utf-8")) == masked(now)
