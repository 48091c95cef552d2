//! What the columns of built-in kinds show, in words of ours: clients show them to nobody but those who ask for the raw
//! Table.

pub(in crate::table) const NAME: &str = "The object's name, unique among its kind in its namespace.";
pub(in crate::table) const CREATION_TIMESTAMP: &str = "How long ago, or when, the object was created.";
pub(in crate::table) const POD_IP: &str = "The pod's address inside its cluster.";
pub(in crate::table) const POD_NODE_NAME: &str = "The node that runs the pod.";
pub(in crate::table) const POD_NOMINATED_NODE_NAME: &str = "The node on which room is being made for the pod.";
pub(in crate::table) const POD_READINESS_GATES: &str =
    "How many of the pod's own readiness conditions are true, of all.";
pub(in crate::table) const NODE_KUBELET_VERSION: &str = "The version of the node's kubelet.";
pub(in crate::table) const NODE_ADDRESSES: &str = "An address of the node.";
pub(in crate::table) const NODE_OS_IMAGE: &str = "The node's operating system.";
pub(in crate::table) const NODE_KERNEL_VERSION: &str = "The node's kernel.";
pub(in crate::table) const NODE_CONTAINER_RUNTIME_VERSION: &str = "The node's container runtime and its version.";
pub(in crate::table) const DEPLOYMENT_UPDATED_REPLICAS: &str = "How many pods have the newest template.";
pub(in crate::table) const DEPLOYMENT_AVAILABLE_REPLICAS: &str = "How many pods have been ready for long enough.";
pub(in crate::table) const DEPLOYMENT_SELECTOR: &str = "Which pods the deployment owns, by label.";
pub(in crate::table) const REPLICA_SET_SPEC_REPLICAS: &str = "How many pods are wanted.";
pub(in crate::table) const REPLICA_SET_STATUS_REPLICAS: &str = "How many pods there are.";
pub(in crate::table) const REPLICA_SET_READY_REPLICAS: &str = "How many pods are ready.";
pub(in crate::table) const REPLICA_SET_SELECTOR: &str = "Which pods the replica set owns, by label.";
pub(in crate::table) const JOB_SUCCEEDED: &str = "How many pods have succeeded, of those wanted.";
pub(in crate::table) const JOB_SELECTOR: &str = "Which pods the job owns, by label.";
pub(in crate::table) const SERVICE_TYPE: &str = "How the service can be reached.";
pub(in crate::table) const SERVICE_CLUSTER_IP: &str = "The service's address inside its cluster.";
pub(in crate::table) const SERVICE_EXTERNAL_IPS: &str = "Addresses at which the service is reached from outside.";
pub(in crate::table) const SERVICE_PORTS: &str = "The service's ports and protocols.";
pub(in crate::table) const SERVICE_SELECTOR: &str = "Which pods the service leads to, by label.";
pub(in crate::table) const CONFIG_MAP_DATA: &str = "How many entries the object has.";
pub(in crate::table) const EVENT_LAST_TIMESTAMP: &str = "How long ago it happened last.";
pub(in crate::table) const EVENT_FIRST_TIMESTAMP: &str = "How long ago it happened first.";
pub(in crate::table) const EVENT_TYPE: &str = "Normal or Warning.";
pub(in crate::table) const EVENT_REASON: &str = "Why, in one word for programs.";
pub(in crate::table) const EVENT_INVOLVED_OBJECT: &str = "What the event is about.";
pub(in crate::table) const EVENT_SOURCE: &str = "Who reported it.";
pub(in crate::table) const EVENT_MESSAGE: &str = "What happened, for people.";
pub(in crate::table) const EVENT_COUNT: &str = "How often it happened.";
pub(in crate::table) const REFERENCE_FIELD_PATH: &str = "Which part of the object the event is about.";
