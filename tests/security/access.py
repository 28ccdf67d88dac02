"""Changes access rules and users of a running broker."""

from __future__ import annotations

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
)

from millstream.connectors.kafka.client_settings import client_settings

_SECONDS = 10


def allow(bootstrap: str, topic: str, user: str, operation: AclOperation) -> None:
    """Allows only this user."""
    rule = AclBinding(
        *(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{user}", "*"),
        *(operation, AclPermissionType.ALLOW),
    )
    add_rules(bootstrap, [rule])


def add_rules(bootstrap: str, rules: list[AclBinding]) -> None:
    client = AdminClient(client_settings({"bootstrap.servers": bootstrap}))
    for added in client.create_acls(rules).values():
        added.result(_SECONDS)


def forget(bootstrap: str, user: str) -> None:
    """Removes the user's credentials for SCRAM-SHA-256."""
    client = AdminClient(client_settings({"bootstrap.servers": bootstrap}))
    gone = UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256)
    client.alter_user_scram_credentials([gone])[user].result(_SECONDS)
