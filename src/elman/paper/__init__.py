"""The paper reproduced: one file a table or figure, behind the commands `elman reproduce` and `elman tune`.

`systems` holds what the paper says, `trials` makes one seeded run, `journal` remembers it, `pool` makes many.
`table1`, `table2`, `figure1` and `figure2` say which runs they want and turn them into flat rows; `content`
and `document` make the report of them.
"""
