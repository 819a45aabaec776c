{{/* The kinds that settings.manageJobs can name, as JSON: group and resource; `ours`, CEL that says whether
an object is for one of SCHEDULERS, for a TrainJob our queue: its runtime has the templates; and `runPolicy` where that has
the field `suspend`. */}}
{{- define "py-gang-scheduler.managedKinds" -}}
{{- $named := "has(%s.template.spec.schedulerName) && %s.template.spec.schedulerName in SCHEDULERS" }}
{{- $kinds := dict
  "Job" (dict "group" "batch" "resource" "jobs" "ours" (printf $named "object.spec" "object.spec"))
  "JobSet" (dict "group" "jobset.x-k8s.io" "resource" "jobsets"
    "ours" (printf "has(object.spec.replicatedJobs) && object.spec.replicatedJobs.exists(job, %s)" (printf $named "job.template.spec" "job.template.spec")))
  "RayCluster" (dict "group" "ray.io" "resource" "rayclusters" "ours" (printf $named "object.spec.headGroupSpec" "object.spec.headGroupSpec"))
  "RayJob" (dict "group" "ray.io" "resource" "rayjobs"
    "ours" (printf "has(object.spec.rayClusterSpec) && %s" (printf $named "object.spec.rayClusterSpec.headGroupSpec" "object.spec.rayClusterSpec.headGroupSpec")))
  "TrainJob" (dict "group" "trainer.kubeflow.org" "resource" "trainjobs"
    "ours" "has(object.metadata.labels) && 'py-gang-scheduler.io/queue' in object.metadata.labels")
}}
{{- range $kind, $roles := dict "PyTorchJob" "pytorch" "TFJob" "tf" "XGBoostJob" "xgb" "PaddleJob" "paddle" "JAXJob" "jax" "MPIJob" "mpi" }}
{{- $specs := printf "object.spec.%sReplicaSpecs" $roles }}
{{- $one := printf "%s[role]" $specs }}
{{- $_ := set $kinds $kind (dict "group" "kubeflow.org" "resource" (printf "%ss" (lower $kind))
  "ours" (printf "has(%s) && %s.exists(role, %s)" $specs $specs (printf $named $one $one)) "runPolicy" true) }}
{{- end }}
{{- toJson $kinds }}
{{- end }}

{{/* What the scheduler may do with the kinds in settings.manageJobs. The status of a Job is written before
Kubernetes 1.36: there, the template of one that has run can be changed only if it forgets that. */}}
{{- define "py-gang-scheduler.managedRules" -}}
{{- $kinds := include "py-gang-scheduler.managedKinds" . | fromJson }}
{{- range .Values.settings.manageJobs }}
{{- $kind := get $kinds . }}
- apiGroups: [{{ $kind.group }}]
  resources: [{{ $kind.resource }}]
  verbs: [get, list, watch, patch]
{{- if eq . "Job" }}
- apiGroups: [batch]
  resources: [jobs/status]
  verbs: [patch]
{{- end }}
{{- end }}
{{- end }}

{{/* What the scheduler may do with the kinds in settings.elasticKinds: they are read anyway. */}}
{{- define "py-gang-scheduler.elasticRules" -}}
{{- $kinds := include "py-gang-scheduler.managedKinds" . | fromJson }}
{{- $_ := set $kinds "StatefulSet" (dict "group" "apps" "resource" "statefulsets") }}
{{- range .Values.settings.elasticKinds }}
{{- $kind := get $kinds . }}
- apiGroups: [{{ $kind.group }}]
  resources: [{{ $kind.resource }}]
  verbs: [patch]
{{- end }}
{{- end }}

{{/* The version in which the cluster serves MutatingAdmissionPolicies; nothing where it does not. */}}
{{- define "py-gang-scheduler.mutatingVersion" -}}
{{- $group := "admissionregistration.k8s.io" }}
{{- if .Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group) }}v1
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) }}v1beta1
{{- end }}
{{- end }}

{{/* The labels that name a queue, ours first, as a list of CEL. */}}
{{- define "py-gang-scheduler.queueKeys" -}}
['py-gang-scheduler.io/queue', 'kueue.x-k8s.io/queue-name', 'scheduling.volcano.sh/queue-name', 'volcano.sh/queue-name']
{{- end }}

{{/* All labels with our prefix that mean something, as a list of CEL. */}}
{{- define "py-gang-scheduler.labelKeys" -}}
['py-gang-scheduler.io/queue', 'py-gang-scheduler.io/gang', 'py-gang-scheduler.io/role']
{{- end }}

{{/* The annotations that an admission writes, as a list of CEL. */}}
{{- define "py-gang-scheduler.admissionKeys" -}}
['py-gang-scheduler.io/admitted-at', 'py-gang-scheduler.io/admitted-from', 'py-gang-scheduler.io/admitted-to', 'py-gang-scheduler.io/queue', 'py-gang-scheduler.io/flavors']
{{- end }}

{{/* The annotations of pods that the scheduler writes with bindings and requests, as a list of CEL. */}}
{{- define "py-gang-scheduler.bindingKeys" -}}
['py-gang-scheduler.io/queue', 'py-gang-scheduler.io/flavors', 'py-gang-scheduler.io/plan-id', 'py-gang-scheduler.io/plan-size', 'py-gang-scheduler.io/plan-left-out', 'py-gang-scheduler.io/plan-gangs', 'py-gang-scheduler.io/plan-gang', 'py-gang-scheduler.io/resume-path', 'py-gang-scheduler.io/resume-step', 'py-gang-scheduler.io/resume-count', 'py-gang-scheduler.io/checkpoint-requested-at', 'py-gang-scheduler.io/checkpoint-request-id']
{{- end }}

{{/* Name, labels and annotations of a policy of a `kind`. The name is a domain name, as it must be. */}}
{{- define "py-gang-scheduler.policyMetadata" -}}
name: {{ include "py-gang-scheduler.policyName" . }}
labels:
  {{- include "py-gang-scheduler.labels" .context | nindent 2 }}
{{- include "py-gang-scheduler.annotations" (dict "own" dict "context" .context "indent" 0) }}
{{- end }}

{{- define "py-gang-scheduler.policyName" -}}
{{- printf "%s.%s.%s" .kind.resource (include "py-gang-scheduler.fullname" .context) .context.Release.Namespace }}
{{- end }}

{{/* The resources of a `kind` and its `operations`. */}}
{{- define "py-gang-scheduler.policyResources" -}}
resourceRules:
  - apiGroups: [{{ .kind.group }}]
    apiVersions: ["*"]
    operations: {{ toJson .operations }}
    resources: [{{ .kind.resource }}]
{{- end }}

{{/* Which objects of a `kind` are concerned: those for our `schedulers` that no other workload made, unless
it is a CronJob. */}}
{{- define "py-gang-scheduler.policyConditions" -}}
- name: is-for-this-scheduler
  expression: {{ .kind.ours | replace "SCHEDULERS" (toJson .schedulers | replace "\"" "'") | quote }}
- name: is-no-part-of-another
  expression: >-
    !has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(owner,
    has(owner.controller) && owner.controller && owner.kind != 'CronJob')
{{- end }}

{{/* Whether an `object` of a `kind` is suspended, as CEL. */}}
{{- define "py-gang-scheduler.isSuspended" -}}
{{- if .kind.runPolicy -}}
has({{ .object }}.spec.runPolicy) && has({{ .object }}.spec.runPolicy.suspend) && {{ .object }}.spec.runPolicy.suspend
{{- else -}}
has({{ .object }}.spec.suspend) && {{ .object }}.spec.suspend
{{- end }}
{{- end }}

{{/* The namespaces that a binding is for; nothing for all. */}}
{{- define "py-gang-scheduler.policyNamespaces" -}}
{{- with .Values.admissionPolicies.namespaceSelector -}}
matchResources:
  namespaceSelector:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}
