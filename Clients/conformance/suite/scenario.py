"""Scenarios, read from their files."""

from dataclasses import dataclass

from suite.messages import Document, Misuse


@dataclass
class Scenario:
    """A scenario of a file in scenarios/."""

    name: str
    group: str
    section: str
    says: str
    steps: list[Document]
    server: Document
    user: str

    @staticmethod
    def parse(group: str, document: Document) -> "Scenario":
        """Reads a scenario. An unknown key is an error."""
        known = {"name", "section", "says", "steps", "server", "user"}
        if set(document) - known:
            raise Misuse(f"{group}: {document.get('name')} has {sorted(set(document) - known)}")
        return Scenario(document["name"], group, document["section"], document["says"],
                        document["steps"], document.get("server", {}), document.get("user", ""))
