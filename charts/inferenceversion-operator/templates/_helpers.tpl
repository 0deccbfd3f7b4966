{{- define "ivo.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "ivo.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "ivo.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "ivo.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Cluster-scoped objects carry the namespace too: two releases of one name must not meet. */}}
{{- define "ivo.clusterName" -}}
{{- printf "%s.%s" .Release.Namespace (include "ivo.fullname" .) -}}
{{- end -}}

{{- define "ivo.selector" -}}
app.kubernetes.io/name: {{ include "ivo.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ivo.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "ivo.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.extraLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Of the pod: a new chart with the same operator does not restart it. */}}
{{- define "ivo.podLabels" -}}
{{ include "ivo.selector" . }}
{{- with .Values.extraLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "ivo.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "ivo.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* A reference by digest where there is one, else by tag. Takes {image, tag: the default}. */}}
{{- define "ivo.reference" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .tag) -}}
{{- end -}}
{{- end -}}

{{- define "ivo.image" -}}
{{- include "ivo.reference" (dict "image" .Values.image "tag" .Chart.AppVersion) -}}
{{- end -}}

{{- define "ivo.guardImage" -}}
{{- include "ivo.reference" (dict "image" .Values.guard.image "tag" "latest") -}}
{{- end -}}

{{- define "ivo.fetchImage" -}}
{{- if .Values.fetch.image.repository -}}
{{- include "ivo.reference" (dict "image" .Values.fetch.image "tag" .Chart.AppVersion) -}}
{{- else -}}
{{- include "ivo.image" . -}}
{{- end -}}
{{- end -}}

{{- define "ivo.differImage" -}}
{{- if .Values.differ.image.repository -}}
{{- include "ivo.reference" (dict "image" .Values.differ.image "tag" .Chart.AppVersion) -}}
{{- else -}}
{{- include "ivo.fetchImage" . -}}
{{- end -}}
{{- end -}}

{{/* The port of a URL: its own, or that of its scheme. */}}
{{- define "ivo.portOf" -}}
{{- $url := urlParse . -}}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (eq $url.scheme "https" | ternary "443" "80") -}}
{{- end -}}

{{/* What the operator may do, by verb that it uses; the same rules for a cluster and for a namespace. */}}
{{- define "ivo.rules" -}}
# Read what users declare, and write what became of it.
- apiGroups: [inferenceversion.io]
  resources: [inferenceversions]
  verbs: [list, watch]
- apiGroups: [inferenceversion.io]
  resources: [inferenceversions/status, inferenceendpoints/status]
  verbs: [patch]
# An endpoint is made when the first version names it and goes with the last. Server-side apply of an object that is
# not there yet needs both patch and create.
- apiGroups: [inferenceversion.io]
  resources: [inferenceendpoints]
  verbs: [list, watch, create, patch, delete]
# The children of versions and endpoints.
- apiGroups: [""]
  resources: [configmaps, services]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes, grpcroutes]
  verbs: [list, watch, create, patch, delete]
# Why a version is not ready is in its pods' states.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# Traffic moves when the Gateway can know the new version's addresses.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end -}}
