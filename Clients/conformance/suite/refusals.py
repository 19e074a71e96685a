"""Errors of calls and streams, compared with the error that a step expects."""

from lib.protobuf import SCHEMA
from suite import messages
from suite.drivers import Answer, Failed
from suite.messages import Document


def refused(answer: Answer, step: Document, wire: str) -> None:
    """Raises Failed unless the answer is the error of the step: "CODE REASON", or "CODE" where it is the
    client's own. A step can have another error for a `wire`."""
    step = {**step, **step.get("wires", {}).get(wire, {})}
    code, _, reason = step["error"].partition(" ")
    if answer.ok:
        raise Failed(f"was expected to fail with {step['error']}, and did not")
    found = error_text(answer)
    if answer.code != code:
        raise Failed(f"failed with {found}, expected {step['error']}")
    if not answer.data:
        # If the step allows it, a client may refuse or give up without the daemon's message.
        if reason and not step.get("client"):
            raise Failed(f"{found} came without its google.rpc.Status, expected {reason}")
        return
    status = SCHEMA.decode("google.rpc.Status", answer.data)
    info, details = _details(status)
    if messages.CODES[status.get("code", 0)] != code:
        raise Failed(f"says {code}, but its status {messages.CODES[status.get('code', 0)]}")
    reasons = reason.split("|") if reason else [info.get("reason", "")]
    if info.get("reason", "") not in reasons:
        raise Failed(f"failed with {found}, expected {step['error']}")
    if not status.get("message"):
        raise Failed(f"{found} has no words for people")
    wrong = messages.difference(step.get("metadata", {}), info.get("metadata", {}), "metadata")
    if wrong:
        raise Failed(f"{found}: {wrong}")
    if step.get("field") and step["field"] not in details["fields"]:
        raise Failed(f"{found} names {details['fields']}, not {step['field']}")
    if step.get("retry") and not details["retry"]:
        raise Failed(f"{found} does not say how long to wait")


def _details(status: Document) -> tuple[Document, Document]:
    info: Document = {}
    details: Document = {"fields": [], "retry": False}
    for detail in status.get("details", []):
        name = detail.get("type_url", "").removeprefix("type.googleapis.com/")
        value = detail.get("value", b"")
        if name == "google.rpc.ErrorInfo":
            info = SCHEMA.decode(name, value)
            if info.get("domain") != "widgetd":
                raise Failed(f"an ErrorInfo of the domain {info.get('domain')!r}")
        elif name == "google.rpc.BadRequest":
            details["fields"] = [violation.get("field") for violation
                                 in SCHEMA.decode(name, value).get("field_violations", [])]
        elif name == "google.rpc.RetryInfo":
            details["retry"] = bool(SCHEMA.decode(name, value).get("retry_delay"))
    return info, details


def error_text(answer: Answer) -> str:
    if not answer.data:
        return f"{answer.code} of its own"
    status = SCHEMA.decode("google.rpc.Status", answer.data)
    reason = _details(status)[0].get("reason", "without a reason")
    return f"{answer.code} {reason} ({status.get('message', '')})"
