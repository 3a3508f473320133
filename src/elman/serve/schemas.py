"""What requests and answers look like, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from elman.models import catalogue
from elman.serve import service
from elman.serve.setups import Setup


class SetupBody(BaseModel):
    """What a stream is made from."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str = Field(
        catalogue.DEFAULT, max_length=100, description="Such as Committee, SRNN-WOGD or Forecaster."
    )
    options: dict[str, Any] = Field(
        default_factory=dict, max_length=20, description="Of the model: lags, seed, …"
    )
    target: str = Field("y", min_length=1, max_length=100, description="The column of a CSV to predict.")
    coverage: float = Field(0.9, gt=0, lt=1, description="The probability that an interval holds its target.")

    time: str | None = Field(
        None, min_length=1, max_length=100, description="Of a Forecaster: the input that is the time stamp."
    )

    def setup(self) -> Setup:
        """Return it as the service takes it."""
        return Setup(self.model, self.options, self.target, self.coverage, self.time)


_INPUTS = {
    "description": "Numbers in a fixed order, or numbers by name; null where one is missing.",
    "anyOf": [
        {"type": "array", "items": {"type": ["number", "null"]}},
        {"type": "object", "additionalProperties": {"type": ["number", "string", "null"]}},
    ],
}
_TARGET = {
    "description": "The truth, which is learned; null or absent if it is not known.",
    "anyOf": [
        {"type": ["number", "null"]},
        {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1},
    ],
}
_ID = {"description": "A row with the same id is learned once.", "type": ["string", "integer", "null"]}
_ROW = {
    "type": "object",
    "required": ["x"],
    "additionalProperties": False,
    "properties": {"x": _INPUTS, "y": _TARGET, "id": _ID},
}
_COLUMNS = {
    "type": "object",
    "required": ["X"],
    "additionalProperties": False,
    "properties": {
        "X": {"type": "array", "items": _INPUTS, "minItems": 1},
        "y": {"type": ["array", "null"], "items": _TARGET},
        "ids": {"type": ["array", "null"], "items": _ID},
    },
}
_TEXT = {"type": "string", "maxLength": 200}


def _query(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": text, "schema": _TEXT}


NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "The stream.",
    "schema": {"type": "string", "pattern": service.NAME, "maxLength": 100},
}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A request with the same key is learned once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
_PARAMETERS = [
    NAME,
    _query("target", "The column, or key of flat objects, to predict."),
    _query("id", "The column, or key of flat objects, that holds ids."),
    KEY,
]


def _rows(row: dict[str, Any], columns: dict[str, Any], example: Any, csv: str) -> dict[str, Any]:
    content = {
        "application/json": {
            "schema": {"anyOf": [row, {"type": "array", "items": row, "minItems": 1}, columns]},
            "example": example,
        },
        "application/x-ndjson": {"schema": {"type": "string"}},
        "text/csv": {"schema": {"type": "string"}, "example": csv},
    }
    return {"parameters": _PARAMETERS, "requestBody": {"required": True, "content": content}}


def _without_target(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {name: each for name, each in schema["properties"].items() if name != "y"}
    return schema | {"properties": properties}


_EXAMPLE = {"pressure": 1.2, "flow": 3.4}
ROWS = _rows(_ROW, _COLUMNS, {"x": _EXAMPLE, "y": 5.6}, "pressure,flow,y\n1.2,3.4,5.6\n")
ASK = _rows(_without_target(_ROW), _without_target(_COLUMNS), {"x": _EXAMPLE}, "pressure,flow\n1.2,3.4\n")
_TRUTH = {
    "type": "object",
    "required": ["id", "y"],
    "additionalProperties": False,
    "properties": {"id": {"type": ["string", "integer"]}, "y": _TARGET},
}
TOLD = {
    "parameters": _PARAMETERS,
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"anyOf": [_TRUTH, {"type": "array", "items": _TRUTH, "minItems": 1}]},
                "example": {"id": 17, "y": 5.6},
            },
            "application/x-ndjson": {"schema": {"type": "string"}},
            "text/csv": {"schema": {"type": "string"}, "example": "id,y\n17,5.6\n"},
        },
    },
}
STATE = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_NUMBERS = {
    "anyOf": [
        {"type": ["number", "null"]},
        {"type": "array", "items": {"anyOf": [{"type": ["number", "null"]}, {"type": "array"}]}},
    ]
}
ANSWER = {
    "description": "Predictions and the ends of their intervals; null where there is none yet.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "row": {"type": "integer", "description": "The number of the first row, from 1."},
                    "prediction": _NUMBERS,
                    "low": _NUMBERS,
                    "high": _NUMBERS,
                },
            }
        },
        "application/x-ndjson": {"schema": {"type": "string"}},
        "text/csv": {"schema": {"type": "string"}},
    },
}
ASKED = {
    "description": "Ids, predictions and the ends of their intervals; null where there is none yet.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "id": {"type": ["integer", "array"], "description": "By which targets are told."},
                    "prediction": _NUMBERS,
                    "low": _NUMBERS,
                    "high": _NUMBERS,
                },
            }
        },
        "application/x-ndjson": {"schema": {"type": "string"}},
        "text/csv": {"schema": {"type": "string"}},
    },
}
_STEPS = {"type": "array", "items": {"type": ["number", "null"]}}
FORECAST = {
    "description": "The next rows; `row` is the number of the last one that was seen.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "row": {"type": "integer"},
                    "mean": _STEPS,
                    "low": _STEPS,
                    "high": _STEPS,
                    "coverage": {"type": "number"},
                    "times": {"type": ["array", "null"], "items": {"type": ["string", "number"]}},
                },
            }
        }
    },
}
AHEAD = _rows(_without_target(_ROW), _without_target(_COLUMNS), [{"x": _EXAMPLE}], "pressure,flow\n1.2,3.4\n")
OBJECT = {"content": {"application/json": {"schema": {"type": "object"}}}}
PROBLEM = {
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["error"],
                "properties": {"error": {"type": "string"}},
            }
        }
    }
}

_REASONS = {
    400: "The body cannot be read.",
    401: "A token is needed.",
    403: "The token may not do this.",
    404: "There is no such stream.",
    409: "It contradicts what came before.",
    408: "The body took too long.",
    413: "The body is too large.",
    415: "A body of this type is not understood.",
    421: "The service does not answer to this name.",
    422: "The content cannot be used.",
    429: "Too much waits already; `Retry-After` says how long to wait.",
    503: "The service is stopping, or its store cannot be written.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how problems are described: those of a route, and those that every route has."""
    return {
        status: PROBLEM | {"description": _REASONS[status]}
        for status in sorted({400, 401, 403, 421, 422, 503, *statuses})
    }
