"""The docstrings of classes and of their attributes, read from the source when schemas and documentation are generated."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap


def prose(docstring: str) -> str:
    """The docstring with its lines joined; paragraphs stay apart."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def attribute_docstrings(cls: type) -> dict[str, str]:
    """The text below each annotated attribute of the class, as prose, by the attribute's name."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    texts: dict[str, str] = {}
    for statement, following in itertools.pairwise(body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = prose(text)
            case _:
                pass
    return texts
