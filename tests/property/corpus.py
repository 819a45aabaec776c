"""Objects of every kind that is read, with every field that is read of them."""

from typing import Any

Manifest = dict[str, Any]

KOORDINATOR = "gang.scheduling.koordinator.sh"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TIME = "2024-01-01T00:00:00Z"
EXPRESSION = {"key": "zone", "operator": "In", "values": ["a", "b"]}
SELECTOR = {"matchLabels": {"app": "x"}, "matchExpressions": [EXPRESSION]}
TERM = {"matchExpressions": [EXPRESSION], "matchFields": [{**EXPRESSION, "key": "metadata.name"}]}
PEER = {
    "labelSelector": SELECTOR,
    "namespaces": ["default"],
    "namespaceSelector": SELECTOR,
    "topologyKey": "zone",
    "matchLabelKeys": ["app"],
}
PEERS = {REQUIRED: [PEER], PREFERRED: [{"weight": 3, "podAffinityTerm": PEER}]}
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
CONDITION = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
CONTAINER: Manifest = {
    "name": "c",
    "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": 1}},
    "ports": [{"hostPort": 80, "containerPort": 80, "protocol": "TCP", "hostIP": "10.0.0.1"}],
    "restartPolicyRules": [{"action": "Restart"}],
    "volumeMounts": [{"name": "v", "bindMountOptions": []}],
}
POD_SPEC: Manifest = {
    "schedulerName": "py-gang-scheduler",
    "priority": 3,
    "nodeSelector": {"zone": "a"},
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [TERM]},
            PREFERRED: [{"weight": 2, "preference": TERM}],
        },
        "podAffinity": PEERS,
        "podAntiAffinity": PEERS,
    },
    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
    "containers": [CONTAINER],
    "initContainers": [{**CONTAINER, "restartPolicy": "Always"}],
    "overhead": {"cpu": "1"},
    "resources": {"requests": {"cpu": 1}},
    "topologySpreadConstraints": [
        {
            "topologyKey": "zone",
            "maxSkew": 1,
            "minDomains": 2,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": SELECTOR,
            "matchLabelKeys": ["app"],
            "nodeAffinityPolicy": "Honor",
            "nodeTaintsPolicy": "Ignore",
        }
    ],
    "volumes": [
        {"name": "v", "persistentVolumeClaim": {"claimName": "claim"}},
        {
            "name": "e",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"resources": {"requests": {"storage": "1Gi"}}},
                }
            },
        },
        {"name": "d", "gcePersistentDisk": {"pdName": "d"}},
        {"name": "r", "rbd": {"monitors": ["m"], "image": "i"}},
    ],
    "resourceClaims": [
        {"name": "gpu", "resourceClaimTemplateName": "gpus"},
        {"name": "nic", "resourceClaimName": "nics"},
    ],
    "terminationGracePeriodSeconds": 30,
    "hostNetwork": False,
}
POD: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p-1",
        "namespace": "default",
        "uid": "p-1",
        "resourceVersion": "7",
        "creationTimestamp": TIME,
        "labels": {"app": "x", "pod-group.scheduling.sigs.k8s.io": "g", "job-index": "1"},
        "annotations": {
            f"{KOORDINATOR}/network-topology-index": "1",
            "kueue.x-k8s.io/podset-required-topology": "rack",
            "kueue.x-k8s.io/podset-slice-required-topology-constraints": (
                '[{"topology": "rack", "size": 2}]'
            ),
        },
        "ownerReferences": [OWNER],
    },
    "spec": POD_SPEC,
    "status": {
        "phase": "Pending",
        "nominatedNodeName": "n1",
        "conditions": [CONDITION],
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-1-gpu"}],
    },
}
RUNNING: Manifest = {
    **POD,
    "metadata": {
        **POD["metadata"],
        "name": "p-2",
        "uid": "p-2",
        "deletionTimestamp": TIME,
        "deletionGracePeriodSeconds": 5,
    },
    "spec": {**POD_SPEC, "nodeName": "n1", "priority": 0},
    "status": {
        "phase": "Running",
        "startTime": TIME,
        "conditions": [{**CONDITION, "type": "PodScheduled", "lastTransitionTime": TIME}],
        "containerStatuses": [
            {
                "name": "c",
                "resources": {"requests": {"cpu": "2"}},
                "allocatedResources": {"cpu": "2"},
                "state": {"running": {"startedAt": TIME}},
            }
        ],
        "resources": {"requests": {"cpu": "2"}},
        "allocatedResources": {"cpu": "2"},
    },
}
ANNOTATED: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "q-1",
        "namespace": "default",
        "uid": "q-1",
        "annotations": {
            f"{KOORDINATOR}/name": "q",
            f"{KOORDINATOR}/min-available": "1",
            f"{KOORDINATOR}/waiting-time": "10m",
            f"{KOORDINATOR}/total-number": "2",
            f"{KOORDINATOR}/mode": "Strict",
            f"{KOORDINATOR}/groups": '["default/q", "default/g"]',
        },
    },
    "spec": {"schedulerName": "py-gang-scheduler", "containers": [{"name": "c"}]},
}
NODE: Manifest = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "n1", "labels": {"zone": "a", "rack": "r1", "spine": "s1"}},
    "spec": {
        "unschedulable": False,
        "taints": [{"key": "k", "value": "v", "effect": "PreferNoSchedule"}],
    },
    "status": {
        "allocatable": {"cpu": "8", "memory": "64Gi", "pods": 110, "nvidia.com/gpu": "8"},
        "capacity": {"cpu": "8"},
        "conditions": [{**CONDITION, "lastTransitionTime": TIME}],
        "declaredFeatures": ["f"],
    },
}
POD_GROUP: Manifest = {
    "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {
        "name": "g",
        "namespace": "default",
        "uid": "g",
        "generation": 2,
        "creationTimestamp": TIME,
        "annotations": {
            f"{KOORDINATOR}/mode": "Strict",
            f"{KOORDINATOR}/match-policy": "once-satisfied",
            f"{KOORDINATOR}/network-topology-spec": (
                '{"gatherStrategy": [{"layer": "Rack", "strategy": "PreferGather", '
                '"podCountMultiple": 1}]}'
            ),
            "py-gang-scheduler.io/min-runtime": "10m",
        },
    },
    "spec": {"minMember": 1, "minResources": {"cpu": 1}, "scheduleTimeoutSeconds": 60},
    "status": {
        "phase": "Scheduled",
        "scheduleStartTime": TIME,
        "conditions": [{**CONDITION, "type": "Scheduled", "observedGeneration": 1}],
    },
}
NATIVE: Manifest = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "native", "namespace": "default", "uid": "native"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": {"all": {}},
        "priority": 2,
    },
    "status": {"conditions": [{**CONDITION, "type": "PodGroupInitiallyScheduled"}]},
}
JOB: Manifest = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "namespace": "default", "uid": "j"},
    "spec": {
        "parallelism": 2,
        "completions": 2,
        "template": {
            "metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}, "annotations": {}},
            "spec": {"containers": [{"name": "c"}]},
        },
    },
    "status": {"succeeded": 0},
}
JOB_SET: Manifest = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "js", "namespace": "default", "uid": "js"},
    "spec": {
        "replicatedJobs": [
            {"name": "w", "replicas": 2, "template": {"metadata": {}, "spec": JOB["spec"]}}
        ],
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
    },
}
NETWORK: Manifest = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default", "uid": "tree", "generation": 1},
    "spec": {
        "networkTopologySpec": [
            {"topologyLayer": "Rack", "labelKey": ["rack"]},
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "Rack"},
        ]
    },
    "status": {"detailStatus": [], "conditions": [{**CONDITION, "lastTransitionTime": TIME}]},
}
KUEUE: Manifest = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "Topology",
    "metadata": {"name": "t", "uid": "t"},
    "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
}
NAMESPACE: Manifest = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "default", "uid": "ns", "labels": {"team": "a"}},
}
BUDGET: Manifest = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "default", "uid": "b", "generation": 1},
    "spec": {"selector": SELECTOR, "minAvailable": "50%"},
    "status": {"observedGeneration": 1, "disruptionsAllowed": 1},
}
PRIORITY_CLASS: Manifest = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 5,
    "globalDefault": True,
    "preemptionPolicy": "Never",
}
CLAIM: Manifest = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "claim",
        "namespace": "default",
        "uid": "claim",
        "resourceVersion": "12",
        "annotations": {"volume.kubernetes.io/selected-node": "n1"},
    },
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "selector": SELECTOR,
        "storageClassName": "late",
        "volumeMode": "Filesystem",
    },
    "status": {"phase": "Pending"},
}
VOLUME: Manifest = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv", "uid": "pv", "labels": {"topology.kubernetes.io/zone": "a__b"}},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "claimRef": {"namespace": "default", "name": "other", "uid": "o"},
        "csi": {"driver": "d", "volumeHandle": "h"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [TERM]}},
        "storageClassName": "late",
    },
    "status": {"phase": "Available"},
}
STORAGE_CLASS: Manifest = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "late",
        "uid": "late",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "d",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}],
}
CSI_NODE: Manifest = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSINode",
    "metadata": {"name": "n1", "uid": "csi-n1"},
    "spec": {"drivers": [{"name": "d", "allocatable": {"count": 3}}]},
}
CSI_DRIVER: Manifest = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "d", "uid": "d"},
    "spec": {"storageCapacity": True, "preventPodSchedulingIfMissing": True},
}
CAPACITY: Manifest = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIStorageCapacity",
    "metadata": {"name": "c", "namespace": "default", "uid": "capacity"},
    "storageClassName": "late",
    "nodeTopology": SELECTOR,
    "capacity": "10Gi",
    "maximumVolumeSize": "5Gi",
}
ATTACHMENT: Manifest = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "VolumeAttachment",
    "metadata": {"name": "a", "uid": "a"},
    "spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}},
}
DEVICE_CLASS: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpus", "uid": "gpus", "creationTimestamp": TIME},
    "spec": {
        "selectors": [{"cel": {"expression": "device.driver == 'd'"}}],
        "config": [{"opaque": {"driver": "d", "parameters": {"a": 1}}}],
        "extendedResourceName": "example.com/gpu",
    },
}
DEVICE: Manifest = {
    "name": "gpu-0",
    "attributes": {"model": {"string": "a"}, "index": {"int": 1}, "fast": {"bool": True}},
    "capacity": {"memory": {"value": "80Gi", "requestPolicy": {"default": "1Gi"}}},
    "consumesCounters": [{"counterSet": "s", "counters": {"memory": {"value": "1Gi"}}}],
    "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
    "bindingConditions": ["ready"],
    "bindingFailureConditions": ["failed"],
    "bindsToNode": True,
    "allowMultipleAllocations": True,
}
RESOURCE_SLICE: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s", "uid": "slice"},
    "spec": {
        "driver": "d",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "nodeSelector": {"nodeSelectorTerms": [TERM]},
        "sharedCounters": [{"name": "s", "counters": {"memory": {"value": "80Gi"}}}],
        "devices": [DEVICE],
    },
}
TAINT_RULE: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "r", "uid": "taint-rule"},
    "spec": {
        "deviceSelector": {"driver": "d", "pool": "n1", "device": "gpu-0"},
        "taint": {"key": "k", "value": "v", "effect": "NoSchedule"},
    },
}
ASKED: Manifest = {
    "devices": {
        "requests": [
            {
                "name": "gpu",
                "exactly": {
                    "deviceClassName": "gpus",
                    "selectors": [{"cel": {"expression": "device.attributes['d'].index > 0"}}],
                    "allocationMode": "ExactCount",
                    "count": 1,
                    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
                    "capacity": {"requests": {"memory": "1Gi"}},
                    "adminAccess": False,
                },
            },
            {"name": "nic", "firstAvailable": [{"name": "any", "deviceClassName": "gpus"}]},
        ],
        "constraints": [{"requests": ["gpu"], "matchAttribute": "d/model"}],
        "config": [{"requests": ["gpu"], "opaque": {"driver": "d", "parameters": {"a": 1}}}],
    }
}
RESOURCE_CLAIM: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "p-1-gpu", "namespace": "default", "uid": "gpu-claim"},
    "spec": ASKED,
    "status": {
        "allocation": {
            "devices": {
                "results": [
                    {"request": "gpu", "driver": "d", "pool": "n1", "device": "gpu-0"},
                ],
            },
            "nodeSelector": {"nodeSelectorTerms": [TERM]},
        },
        "reservedFor": [{"resource": "pods", "name": "p-1", "uid": "p-1"}],
        "devices": [
            {"driver": "d", "pool": "n1", "device": "gpu-0", "conditions": [CONDITION]},
        ],
    },
}
CLAIM_TEMPLATE: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpus", "namespace": "default", "uid": "gpu-template"},
    "spec": {"spec": ASKED},
}

ALL = (
    *(POD, RUNNING, ANNOTATED, NODE, POD_GROUP, NATIVE, JOB, JOB_SET, NETWORK, KUEUE, NAMESPACE),
    *(BUDGET, PRIORITY_CLASS, CLAIM, VOLUME, STORAGE_CLASS),
    *(CSI_NODE, CSI_DRIVER, CAPACITY, ATTACHMENT),
    *(DEVICE_CLASS, RESOURCE_SLICE, TAINT_RULE, RESOURCE_CLAIM, CLAIM_TEMPLATE),
)
"""One of each, which may all be in one cluster."""
