"""The page: the same blocks as HTML and as Markdown."""

import pytest

from elman.paper.document import Document, Figure, Heading, Table, Text, to_html, to_markdown

SVG = (
    '<?xml version="1.0"?>\n<svg xmlns="x" width="10pt" height="20pt" viewBox="0 0 10 20">'
    '<path id="a"/><use href="#a" clip-path="url(#a)"/></svg>'
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "figure1.svg").write_text(SVG)
    return tmp_path


def test_a_drawing_is_inside_the_page_and_scales(folder):
    page = to_html(Document("T", [Figure("figure1", "what it shows")]), folder)

    assert '<svg xmlns="x" viewBox="0 0 10 20">' in page
    assert "<figcaption>what it shows</figcaption>" in page
    assert "<?xml" not in page


def test_the_ids_of_a_drawing_are_its_own(folder):
    page = to_html(Document("T", [Figure("figure1", "")]), folder)

    assert 'id="figure1-a"' in page
    assert 'href="#figure1-a"' in page
    assert "url(#figure1-a)" in page


def test_text_cannot_become_markup(folder):
    page = to_html(Document("a < b", [Text("<script> & `x<y`"), Table(["<"], [["&"]])]), folder)

    assert "<h1>a &lt; b</h1>" in page
    assert "&lt;script&gt; &amp; <code>x&lt;y</code>" in page
    assert "<script>" not in page


def test_groups_span_their_columns(folder):
    table = Table(["s", "a", "b"], [["x", "1", "2"]], groups=[("", 1), ("G", 2)])

    assert '<th colspan="2" class="group">G</th>' in to_html(Document("T", [table]), folder)
    assert "| s | G: a | b |" in to_markdown(Document("T", [table]), "results")


def test_a_table_that_is_too_wide_for_markdown_becomes_several_with_the_same_first_column():
    groups = [("", 1), *((name, 3) for name in "GHIJ")]
    head, row = ["s", *"abc" * 4], ["x", *map(str, range(12))]

    page = to_markdown(Document("T", [Table(head, [row], "under it", groups=groups)]), "results")

    assert [line for line in page.splitlines() if line and "---" not in line] == [
        "# T",
        "| s | G: a | b | c | H: a | b | c |",
        "| x | 0 | 1 | 2 | 3 | 4 | 5 |",
        "| s | I: a | b | c | J: a | b | c |",
        "| x | 6 | 7 | 8 | 9 | 10 | 11 |",
        "under it",
    ]


def test_markdown_points_to_the_drawing():
    page = to_markdown(Document("T", [Heading(2, "H"), Figure("figure1", "c")]), "results")

    assert page == "# T\n\n## H\n\n![c](results/figure1.svg)\n\nc\n"
