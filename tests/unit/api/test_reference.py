from valkey_operator.api.reference import page

CRD = {
    "spec": {
        "group": "example.com",
        "names": {"kind": "Thing", "shortNames": ["th"]},
        "versions": [
            {
                "name": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "description": "A thing.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {
                                        "type": "integer",
                                        "minimum": 1,
                                        "description": "How <big> | small.",
                                        "x-kubernetes-validations": [{"rule": "self < 9", "message": "too big: lower it"}],
                                    },
                                    "parts": {
                                        "type": "array",
                                        "description": "Parts.",
                                        "items": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["A", "B"]}}},
                                    },
                                },
                            },
                            "status": {"type": "object"},
                        },
                    }
                },
            }
        ],
    }
}


def test_every_field_has_a_row_and_every_rule_a_line():
    text = page([CRD])
    assert "| `size` | integer 1 to … | How &lt;big> \\| small. **Required.** |" in text
    assert "| `parts` | list of object | Parts. |" in text
    assert "| `parts[].kind` | `A` or `B` |  |" in text
    assert "- `spec.size`: too big: lower it" in text
