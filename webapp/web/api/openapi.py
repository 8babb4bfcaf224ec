"""The OpenAPI 3.1 document, made from the same declarations and types that route and check the calls (spec 11)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

import msgspec

from webapp.engine.numbers import JsonObject
from webapp.web.api.idempotency import HEADER, MAX_KEY
from webapp.web.api.routing import Endpoint
from webapp.web.api.shapes import ProblemDocument
from webapp.web.errors import PROBLEM_JSON

_REF = "#/components/schemas/{name}"
_ALWAYS = (400, 401, 403, 429, 503)
_OF_BODIES = (413, 415)
Text = Callable[[str], str]
"""Message key to text, in the language of the document."""


def openapi_document(endpoints: Sequence[Endpoint], version: str, text: Text) -> JsonObject:
    """Return the description of these calls."""
    types = [ProblemDocument, *_types(endpoints)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    schema_of = {_key(type_): schema for type_, schema in zip(types, schemas, strict=True)}
    paths: JsonObject = {}
    for endpoint in endpoints:
        address = "/api/v1" + re.sub(r"<([a-z_]+)>", r"{\1}", endpoint.path)
        paths.setdefault(address, {})[endpoint.method.lower()] = _operation(endpoint, schema_of, text)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Waypost",
            "version": version,
            "description": text("api.document"),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"session": [], "csrf": []}],
        "tags": [
            {"name": tag, "description": text(f"api.tag.{tag}")}
            for tag in dict.fromkeys(endpoint.tag for endpoint in endpoints)
        ],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY, "headers": _HEADERS},
    }


_SECURITY: JsonObject = {
    "token": {"type": "http", "scheme": "bearer", "description": "A personal or service token"},
    "session": {"type": "apiKey", "in": "cookie", "name": "waypost"},
    "csrf": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRFToken",
        "description": "For session requests that change something",
    },
}

_HEADERS: JsonObject = {
    "RequestId": {"description": "The id of this request in the log", "schema": {"type": "string"}},
    "ETag": {"description": "The revision, in quotes", "schema": {"type": "string"}},
    "Location": {"description": "Where the new thing is", "schema": {"type": "string"}},
    "RetryAfter": {"description": "Seconds to wait", "schema": {"type": "string"}},
}


def _key(type_: Any) -> str:
    return repr(type_)


def _types(endpoints: Sequence[Endpoint]) -> list[Any]:
    types: dict[str, Any] = {}
    for endpoint in endpoints:
        answers = [type_ for answer in endpoint.answers.values() for type_ in _one_of(answer)]
        wanted = [*answers, endpoint.body, *(_query_types(endpoint).values())]
        types.update({_key(type_): type_ for type_ in wanted if type_ is not None})
    return list(types.values())


def _one_of(answer: Any) -> tuple[Any, ...]:
    """Return the types of an answer: a call may have one that only tells what it would do."""
    return answer if isinstance(answer, tuple) else (answer,)


def _query_types(endpoint: Endpoint) -> dict[str, Any]:
    return {} if endpoint.query is None else get_type_hints(endpoint.query, include_extras=True)


def _operation(endpoint: Endpoint, schema_of: dict[str, Any], text: Text) -> JsonObject:
    operation: JsonObject = {
        "operationId": endpoint.name,
        "tags": [endpoint.tag],
        "summary": text(f"api.call.{endpoint.name}.title"),
        "description": text(f"api.call.{endpoint.name}.text"),
        "parameters": [
            *_path_parameters(endpoint),
            *_query_parameters(endpoint, schema_of),
            *_header_parameters(endpoint),
        ],
        "responses": _responses(endpoint, schema_of, text),
    }
    body = _request_body(endpoint, schema_of)
    if body is not None:
        operation["requestBody"] = body
    return operation


def _path_parameters(endpoint: Endpoint) -> list[JsonObject]:
    schema = {"type": "string", "minLength": 1, "maxLength": 200}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in endpoint.parameters]


def _query_parameters(endpoint: Endpoint, schema_of: dict[str, Any]) -> list[JsonObject]:
    if endpoint.query is None:
        return []
    hints = _query_types(endpoint)
    parameters = []
    for field in msgspec.structs.fields(endpoint.query):
        schema = _without_null(schema_of[_key(hints[field.name])])
        parameters.append({"name": field.encode_name, "in": "query", "required": False, "schema": schema})
    return parameters


def _without_null(schema: JsonObject) -> JsonObject:
    """A parameter that is absent is not sent as null: say what it is when it is there."""
    members = [member for member in schema.get("anyOf", []) if member != {"type": "null"}]
    return members[0] if len(members) == 1 else schema


def _header_parameters(endpoint: Endpoint) -> list[JsonObject]:
    return [*_if_match(endpoint), *_idempotency_key(endpoint)]


def _idempotency_key(endpoint: Endpoint) -> list[JsonObject]:
    if not endpoint.takes_key:
        return []
    schema = {"type": "string", "pattern": "^[!-~]+$", "minLength": 1, "maxLength": MAX_KEY}
    described = "Sent again with the same body within 24 hours, the request is answered as before and acts once"
    return [{"name": HEADER, "in": "header", "required": False, "schema": schema, "description": described}]


def _if_match(endpoint: Endpoint) -> list[JsonObject]:
    if endpoint.if_match is None:
        return []
    described = 'The revision last read, in quotes: `"3"`'
    required = endpoint.if_match == "required"
    return [
        {
            "name": "If-Match",
            "in": "header",
            "required": required,
            "schema": {"type": "string"},
            "description": described,
        }
    ]


def _request_body(endpoint: Endpoint, schema_of: dict[str, Any]) -> JsonObject | None:
    if endpoint.body is None and not endpoint.document:
        return None
    schema = schema_of[_key(endpoint.body)] if endpoint.body is not None else {"type": "object"}
    return {"required": endpoint.body_required, "content": {"application/json": {"schema": schema}}}


def _responses(endpoint: Endpoint, schema_of: dict[str, Any], text: Text) -> JsonObject:
    responses: JsonObject = {}
    for status, type_ in endpoint.answers.items():
        answer: JsonObject = {"description": text(f"api.status.{status}"), "headers": _answer_headers(endpoint, status)}
        if type_ is not None:
            schemas = [schema_of[_key(one)] for one in _one_of(type_)]
            answer["content"] = {
                "application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}
            }
        responses[str(status)] = answer
    of_bodies = () if endpoint.method == "GET" else _OF_BODIES
    for status in sorted({*_ALWAYS, *of_bodies, *endpoint.refusals}):
        headers = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
        if status in (429, 503):
            headers["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
        problem = {PROBLEM_JSON: {"schema": schema_of[_key(ProblemDocument)]}}
        responses[str(status)] = {"description": text(f"api.status.{status}"), "headers": headers, "content": problem}
    return responses


def _answer_headers(endpoint: Endpoint, status: int) -> JsonObject:
    headers: JsonObject = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
    if endpoint.sends_revision:
        headers["ETag"] = {"$ref": "#/components/headers/ETag"}
    if status == 201:
        headers["Location"] = {"$ref": "#/components/headers/Location"}
    return headers
