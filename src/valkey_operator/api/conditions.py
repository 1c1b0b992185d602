"""The words of a status: states, condition types and reasons, each one a person can act on."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """One word for how a ValkeyCluster is."""

    INITIALIZING = "Initializing"
    RECONCILING = "Reconciling"
    READY = "Ready"
    DEGRADED = "Degraded"
    FAILED = "Failed"


class ConditionType(StrEnum):
    """What a condition speaks of."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    CLUSTER_FORMED = "ClusterFormed"
    SLOTS_ASSIGNED = "SlotsAssigned"
    EXTERNAL_ACCESS_READY = "ExternalAccessReady"
    CONFIGURATION_WARNING = "ConfigurationWarning"


class ConditionStatus(StrEnum):
    """Whether it is so; Unknown when the operator could not find out."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Reason(StrEnum):
    """Why a condition is as it is."""

    # the cluster as a whole
    INITIALIZING = "Initializing"
    RECONCILING = "Reconciling"
    RECONCILE_COMPLETE = "ReconcileComplete"
    CLUSTER_HEALTHY = "ClusterHealthy"
    INVALID_SPEC = "InvalidSpec"
    # its objects
    SERVICE_ERROR = "ServiceError"
    CONFIG_MAP_ERROR = "ConfigMapError"
    SECRET_ERROR = "SecretError"  # noqa: S105  # a reason's name
    STATEFUL_SET_ERROR = "StatefulSetError"
    VALKEY_NODE_ERROR = "ValkeyNodeError"
    OBJECT_CONFLICT = "ObjectConflict"
    USERS_ACL_ERROR = "UsersACLError"
    SYSTEM_USERS_ACL_ERROR = "SystemUsersACLError"
    # its pods and servers
    WAITING_FOR_PODS = "WaitingForPods"
    POD_UNSCHEDULABLE = "PodUnschedulable"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    SERVER_CRASHED = "ServerCrashed"
    SERVER_UNREACHABLE = "ServerUnreachable"
    SERVER_FOREIGN = "ServerForeign"
    UPDATING_NODES = "UpdatingNodes"
    GRACE_PERIOD_TOO_SHORT = "GracePeriodTooShort"
    PODS_OUTDATED = "PodsOutdated"
    # its topology
    ADDING_NODES = "AddingNodes"
    NODE_ADD_FAILED = "NodeAddFailed"
    MISSING_SHARDS = "MissingShards"
    MISSING_REPLICAS = "MissingReplicas"
    PRIMARY_LOST = "PrimaryLost"
    TOPOLOGY_COMPLETE = "TopologyComplete"
    ALL_SLOTS_ASSIGNED = "AllSlotsAssigned"
    SLOTS_UNASSIGNED = "SlotsUnassigned"
    COMMAND_FAILED = "CommandFailed"
    # external access
    READY = "Ready"
    DISABLED = "Disabled"
    WAITING_FOR_CLUSTER = "WaitingForCluster"
    ALLOCATING_PORTS = "AllocatingPorts"
    WAITING_FOR_LOAD_BALANCER = "WaitingForLoadBalancer"
    WAITING_FOR_DNS = "WaitingForDNS"
    ANNOUNCING = "Announcing"
    DRAINING = "Draining"
    SERVICE_CONFLICT = "ServiceConflict"
    INVALID_ADVERTISED_HOST = "InvalidAdvertisedHost"
    HOST_CLAIMED = "HostClaimed"
    CERTIFICATE_MISSING_NAMES = "CertificateMissingNames"
    CERTIFICATE_INVALID = "CertificateInvalid"
    UNSUPPORTED_VALKEY_VERSION = "UnsupportedValkeyVersion"
    NODE_ADDRESS_UNKNOWN = "NodeAddressUnknown"
    ROUTE_NOT_ACCEPTED = "RouteNotAccepted"
    # risks that are allowed
    NO_WARNINGS = "NoWarnings"
    CERTIFICATE_EXPIRES = "CertificateExpires"
    DEFAULT_USER_OPEN = "DefaultUserOpen"
    EXTERNAL_ACCESS_WITHOUT_TLS = "ExternalAccessWithoutTLS"
    PREFERRED_PORT_TAKEN = "PreferredPortTaken"
    REPLICAS_NOT_REACHABLE = "ReplicasNotReachable"
    LOCAL_TRAFFIC_POLICY = "LocalTrafficPolicy"
    SOURCE_RANGES = "SourceRanges"
    ANNOTATIONS_LEFT_OUT = "AnnotationsLeftOut"
    ENDPOINTS_UNPROVEN = "EndpointsUnproven"
    MULTIPLE_WARNINGS = "MultipleWarnings"
