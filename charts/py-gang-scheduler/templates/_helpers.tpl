{{/* The name of the chart, or the one that the user chose. */}}
{{- define "py-gang-scheduler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The name of every object: short when the release is named after the chart. */}}
{{- define "py-gang-scheduler.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := include "py-gang-scheduler.name" . }}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* The name of objects without a namespace: two releases of one name do not meet. */}}
{{- define "py-gang-scheduler.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "py-gang-scheduler.fullname" .) }}
{{- end }}

{{/* Labels that select the pods. They can never change in a release. */}}
{{- define "py-gang-scheduler.selectorLabels" -}}
app.kubernetes.io/name: {{ include "py-gang-scheduler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of the pod of `helm test`, which must be none of those that the Service selects. */}}
{{- define "py-gang-scheduler.testLabels" -}}
app.kubernetes.io/name: {{ include "py-gang-scheduler.name" . | trunc 58 | trimSuffix "-" }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The name of the objects of the page. */}}
{{- define "py-gang-scheduler.pageName" -}}
{{- include "py-gang-scheduler.fullname" . | trunc 58 | trimSuffix "-" }}-page
{{- end }}

{{/* Labels that select the pod of the page, which no selector of the scheduler's pods must match. */}}
{{- define "py-gang-scheduler.pageLabels" -}}
app.kubernetes.io/name: {{ include "py-gang-scheduler.name" . | trunc 58 | trimSuffix "-" }}-page
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "py-gang-scheduler.pageServiceAccountName" -}}
{{- if .Values.page.serviceAccount.create }}
{{- default (include "py-gang-scheduler.pageName" .) .Values.page.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.page.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Labels of every object. What the user adds comes last, and takes the place of none. */}}
{{- define "py-gang-scheduler.labels" -}}
{{- $labels := include "py-gang-scheduler.selectorLabels" . | fromYaml }}
{{- include "py-gang-scheduler.labelsBeside" (dict "context" . "labels" $labels "extra" dict) }}
{{- end }}

{{/* `labels`, those of the chart, those of every object, and `extra`; the first of a name wins. */}}
{{- define "py-gang-scheduler.labelsBeside" -}}
{{- $chart := printf "%s-%s" .context.Chart.Name .context.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- $ours := dict "helm.sh/chart" $chart }}
{{- $_ := set $ours "app.kubernetes.io/version" .context.Chart.AppVersion }}
{{- $_ := set $ours "app.kubernetes.io/managed-by" .context.Release.Service }}
{{- merge dict .labels $ours .extra .context.Values.commonLabels | toYaml }}
{{- end }}

{{/* `annotations:` of an object, its `own` and those of every object; nothing where there are none. */}}
{{- define "py-gang-scheduler.annotations" -}}
{{- with merge dict .own .context.Values.commonAnnotations }}
{{- dict "annotations" . | toYaml | nindent (int $.indent) }}
{{- end }}
{{- end }}

{{- define "py-gang-scheduler.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "py-gang-scheduler.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Settings as environment variables: strings as they are, everything else as JSON. */}}
{{- define "py-gang-scheduler.settings" -}}
{{- range $name, $value := .Values.settings }}
{{- if not (kindIs "invalid" $value) }}
- name: PGS_{{ snakecase $name | upper }}
  value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The settings that decisions depend on, as JSON with the names of the environment. */}}
{{- define "py-gang-scheduler.policy" -}}
{{- $deciding := list
  "schedulerNames" "strategy" "gangKinds" "maxTermComparisons" "scheduleTimeoutSeconds" "preemption"
  "preemptOtherSchedulers" "minPriorityDifference" "maxVictims"
  "minRuntimeBeforePreemptionSeconds" "maxMinRuntimeSeconds" "protectionLabelNamespaces"
  "preemptUnprotectedJobs" "useEvictionApi" "hideForeignNames" "victimTimeoutSeconds"
  "maxTerminationSeconds" "maxGracePeriodSeconds"
  "queueNamespaces" "gpuResources" "kueue" "volcano" "kueueFairness" "fairStrategies"
  "defaultQueue" "requireQueue" "countOtherSchedulers" "resourceTransformations"
  "deviceClassMappings" "excludeResourcePrefixes" "agingPerHour" "agingMax" "reservationAfterSeconds" "reservations"
  "reservationTimeoutSeconds" "backfillWindowSeconds" "enforceBackfill" "yieldMemorySeconds"
  "lostWorkCapSeconds" "usageHalfLifeSeconds" "nodeFailureSeconds" "nodeFailureTaints" "spareNodes"
  "manageJobs" "elasticKinds" "podsTimeoutSeconds"
  "provisioningRequests" "provisioningRetries" "provisioningBackoffSeconds" "dra" "gatherComputeDomains"
}}
{{- $found := dict }}
{{- range $name, $value := .Values.settings }}
{{- if and (has $name $deciding) (not (kindIs "invalid" $value)) }}
{{- $_ := set $found (snakecase $name) $value }}
{{- end }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{/* Whether a CRD is installed: as the user says, or if no other release or product has installed it. */}}
{{- define "py-gang-scheduler.installsCrd" -}}
{{- $install := .context.Values.crds.install }}
{{- if or (eq $install "always") (and (eq $install "auto") (include "py-gang-scheduler.ownsCrd" .)) }}true{{ end }}
{{- end }}

{{/* Whether a CRD is ours to install: the cluster says that it is not there, or is of this release. */}}
{{- define "py-gang-scheduler.ownsCrd" -}}
{{- $installed := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .name }}
{{- $annotations := dig "metadata" "annotations" dict $installed }}
{{- $name := get $annotations "meta.helm.sh/release-name" }}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" }}
{{- $manager := dig "metadata" "labels" "app.kubernetes.io/managed-by" "" $installed }}
{{- if $installed }}
{{- if and (eq $manager "Helm") (eq $name .context.Release.Name) (eq $namespace .context.Release.Namespace) }}true{{ end }}
{{- else }}
{{- include "py-gang-scheduler.hasCluster" . }}
{{- end }}
{{- end }}

{{/* The commands that give CRDs to the release. Helm takes no object without all three marks. */}}
{{- define "py-gang-scheduler.adopt" -}}
{{- $names := join " " .crds }}
  kubectl label --overwrite crd {{ $names }} app.kubernetes.io/managed-by=Helm
  kubectl annotate --overwrite crd {{ $names }} meta.helm.sh/release-name={{ .context.Release.Name }} meta.helm.sh/release-namespace={{ .context.Release.Namespace }}
{{- end }}

{{/* Whether there is a cluster to ask: without one every answer is empty, this one as well. */}}
{{- define "py-gang-scheduler.hasCluster" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" }}true{{ end }}
{{- end }}

{{/* The image. None is published, so there is no default. */}}
{{- define "py-gang-scheduler.image" -}}
{{- $image := .Values.image }}
{{- $howTo := "image.repository is required, because no image is published: build and push one with `make image IMAGE=REGISTRY/py-gang-scheduler:%s` where the Makefile is, and set image.repository=REGISTRY/py-gang-scheduler" }}
{{- $repository := required (printf $howTo .Chart.AppVersion) $image.repository }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{/* Whether a replica waits until it leads: not with leaderElect=false, however that is said. */}}
{{- define "py-gang-scheduler.elects" -}}
{{- $set := get (.Values.settings | default dict) "leaderElect" }}
{{- if not (or (eq (toString $set) "false") (has "--no-leader-elect" .Values.extraArgs)) }}true{{ end }}
{{- end }}

{{/* Whether there are FlowSchemas: as the user says, or where other objects of the cluster are made. */}}
{{- define "py-gang-scheduler.hasFlowSchema" -}}
{{- $enabled := toString .Values.flowSchema.enabled }}
{{- if or (eq $enabled "true") (and (eq $enabled "auto") .Values.rbac.create) }}true{{ end }}
{{- end }}

{{/* The name of FlowSchemas and levels: no colon may be in it. */}}
{{- define "py-gang-scheduler.flowName" -}}
{{- printf "%s.%s" .Release.Namespace (include "py-gang-scheduler.fullname" .) }}
{{- end }}

{{/* Refuses values that no schema can refuse, because each of them is right by itself. */}}
{{- define "py-gang-scheduler.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not (include "py-gang-scheduler.elects" .)) }}
{{- fail (printf "settings.leaderElect=false with replicas=%d: without a Lease every replica would schedule, and two at once overcommit nodes. Set replicas=1 or leave settings.leaderElect at true" (int .Values.replicas)) }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if hasPrefix "PGS_" (upper .name) }}
{{- $key := upper .name | trimPrefix "PGS_" | lower | replace "_" " " | title | nospace | untitle }}
{{- fail (printf "extraEnv has %s, which is a setting: set settings.%s instead" .name $key) }}
{{- end }}
{{- end }}
{{- if and (or .Values.admissionPolicies.suspend .Values.admissionPolicies.validate) (not (default dict .Values.settings).manageJobs) }}
{{- fail "admissionPolicies are for the kinds in settings.manageJobs, which has none: what is suspended on creation would never start" }}
{{- end }}
{{- if eq .Values.crds.install "always" }}
{{- $foreign := list }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $name := ($.Files.Get $path | fromYaml).metadata.name }}
{{- if and (include "py-gang-scheduler.hasCluster" $) (not (include "py-gang-scheduler.ownsCrd" (dict "name" $name "context" $))) }}
{{- $foreign = append $foreign $name }}
{{- end }}
{{- end }}
{{- with $foreign }}
{{- fail (printf "crds.install=always: %s were installed by something else. Leave crds.install at auto, or give them to this release first:\n%s\n" (join ", " .) (include "py-gang-scheduler.adopt" (dict "crds" . "context" $))) }}
{{- end }}
{{- end }}
{{- $settings := default dict .Values.settings }}
{{- $duration := default 10 $settings.leaseDurationSeconds | float64 }}
{{- $deadline := default 8 $settings.renewDeadlineSeconds | float64 }}
{{- $period := default 1 $settings.retryPeriodSeconds | float64 }}
{{- if gt $deadline (subf $duration 1.0) }}
{{- fail (printf "settings.renewDeadlineSeconds=%v must be at least 1 less than settings.leaseDurationSeconds=%v" $deadline $duration) }}
{{- end }}
{{- if gt (mulf 3.0 $period) $deadline }}
{{- fail (printf "settings.retryPeriodSeconds=%v must be at most a third of settings.renewDeadlineSeconds=%v" $period $deadline) }}
{{- end }}
{{- with .Values.rollingUpdate }}
{{- if and (has (toString .maxSurge) (list "0" "0%")) (has (toString .maxUnavailable) (list "0" "0%")) }}
{{- fail "rollingUpdate.maxSurge and rollingUpdate.maxUnavailable are both 0: no pod could ever be replaced" }}
{{- end }}
{{- end }}
{{- if and $settings.recordTo (not .Values.recording.volume) (not (hasPrefix "/tmp/" $settings.recordTo)) }}
{{- fail (printf "settings.recordTo=%s needs recording.volume: the root of the container cannot be written to" $settings.recordTo) }}
{{- end }}
{{- with .Values.page }}
{{- if and .enabled .ingress.enabled (not .ingress.host) }}
{{- fail "page.ingress.enabled needs page.ingress.host: the page answers to its own names only" }}
{{- end }}
{{- if and .enabled (eq .auth "proxy") (not (and .tlsSecret .proxyCaConfigMap)) }}
{{- fail "page.auth=proxy needs page.tlsSecret and page.proxyCaConfigMap: only a proxy that shows its certificate may name users" }}
{{- end }}
{{- end }}
{{- with .Values.metrics }}
{{- if and .serviceMonitor.enabled (not .service.enabled) }}
{{- fail "metrics.serviceMonitor.enabled needs metrics.service.enabled" }}
{{- end }}
{{- if and .serviceMonitor.enabled .podMonitor.enabled }}
{{- fail "metrics.serviceMonitor.enabled and metrics.podMonitor.enabled would both scrape every pod: choose one" }}
{{- end }}
{{- if and $.Values.alerts.enabled (not (or .service.enabled .podMonitor.enabled)) }}
{{- fail "alerts.enabled needs metrics.service.enabled or metrics.podMonitor.enabled" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Where the volume for recordings is mounted. */}}
{{- define "py-gang-scheduler.recordTo" -}}
{{- default "/recordings" (default dict .Values.settings).recordTo }}
{{- end }}

{{/* What the restricted level of Pod security wants of a pod, and of a container. */}}
{{- define "py-gang-scheduler.podSecurityContext" -}}
{{- toYaml .Values.podSecurityContext }}
{{- end }}

{{- define "py-gang-scheduler.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end }}

{{/* The environment: the lease that the Role allows, then the settings, then what the user adds. */}}
{{- define "py-gang-scheduler.env" -}}
- name: PGS_LEASE_NAME
  value: {{ include "py-gang-scheduler.fullname" . }}
- name: PGS_LEASE_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- if and .Values.recording.volume (not (default dict .Values.settings).recordTo) }}
- name: PGS_RECORD_TO
  value: {{ include "py-gang-scheduler.recordTo" . }}
{{- end }}
{{- include "py-gang-scheduler.settings" . }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* `rule` of files/alerts.yaml with what `values` say of it: its threshold is what its expression ends with. */}}
{{- define "py-gang-scheduler.alert" -}}
{{- if hasKey .values "threshold" }}
{{- $_ := set .rule "expr" (regexReplaceAll "[0-9.]+$" .rule.expr (printf "%v" .values.threshold)) }}
{{- end }}
{{- $_ := set .rule "for" .values.for }}
{{- $_ := set .rule.labels "severity" .values.severity }}
{{- if .runbooks }}
{{- $_ := set .rule.annotations "runbook_url" (printf "%s#%s" .runbooks (lower .rule.alert)) }}
{{- end }}
{{- list .rule | toYaml }}
{{- end }}
