"""A widget with private parts, and the text that a redacted view has of it."""

from lib.protobuf import values

KIND = """
kinds:
  mail:
    parameters: {account: {type: string, default: ""}}
    data: {unread: {type: int, default: 3}, subject: {type: string, default: ""}}
    entry: {note: {type: string, default: ""}}
    content:
      stack:
        - label: '=string(data.unread) + " unread"'
        - label: =data.subject
          tooltip: =entry.note + parameters.account
          privacy: true
"""
#: Every private text begins with this word.
SECRET = "secret"
PUBLIC = "unread"


def create_mail(scratch):
    """Creates the widget `mail`. Each part that a redacted view leaves out has a private text."""
    done = scratch.ctl("apply", "-f", "-", text=KIND)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    notes = [{"date": {"seconds": seconds}, "values": values({"note": "secret note"})}
             for seconds in (978307200, 6942585600)]
    with scratch.connect() as connection:
        connection.call("CreateWidget", widget={
            "id": "mail", "kind": "mail", "labels": {"of": "secret-label"},
            "parameters": values({"account": "secret account"}),
            "data": values({"subject": "secret subject"}),
            "timeline": {"policy": 3, "entries": notes}})
        connection.call("UpdateWidget", id="mail", patch={
            "error": {"reason": "NO_MAIL", "message": "secret message"}})


def remove_mail(scratch):
    with scratch.connect() as connection:
        connection.call("DeleteWidget", id="mail")
        connection.call("DeleteKind", name="mail")
