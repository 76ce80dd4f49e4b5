{{- /* Parts of objects. Most take the root and the role of pods, which is the label app.kubernetes.io/component. Values become
JSON, which is YAML of one line: no text can end it. Sections are read as (.Values.section).name, for helm upgrade --reuse-values
takes the values of an older chart, which may lack the section. Each part begins a new line by itself, so it is included with {{- and indent. */}}

{{- /* The name of all objects: that of the release, followed by that of the chart where it is part of another one, for two may be there under
two aliases. Names of Services have no dots and begin with a letter, and those of StatefulSets leave room for -shard and a hash in labels of
63 characters. */}}
{{- define "promcost.name" -}}
{{- $name := .Release.Name }}
{{- $own := .Values.nameOverride }}
{{- if and (not $own) (not .Chart.IsRoot) }}
{{- $own = slice (splitList "/charts/" (dir .Template.BasePath)) 1 | join "-" | default .Chart.Name }}
{{- end }}
{{- if .Values.fullnameOverride }}
{{- $name = .Values.fullnameOverride }}
{{- else if and $own (ne $own $name) }}
{{- $name = print $name "-" $own }}
{{- end }}
{{- $name = $name | lower | replace "." "-" | replace "_" "-" }}
{{- if not (regexMatch "^[a-z]" $name) }}
{{- $name = print "promcost-" $name }}
{{- end }}
{{- if gt (len $name) 46 }}
{{- $name = print (trunc 37 $name | trimSuffix "-") "-" (sha256sum $name | trunc 8) }}
{{- end }}
{{- $name }}
{{- end }}

{{- /* The name of the ServiceAccount. */}}
{{- define "promcost.account" -}}
{{- $own := (.Values.serviceAccount).name }}
{{- if eq (toJson (.Values.serviceAccount).create) "false" }}{{ $own | default "default" }}
{{- else }}{{ $own | default (include "promcost.name" .) }}
{{- end }}
{{- end }}

{{- /* The labels by which pods of a role are selected. They never change. */}}
{{- define "promcost.selector" }}
{{- $root := index . 0 }}
app.kubernetes.io/name: promcost
app.kubernetes.io/instance: {{ include "promcost.name" $root | toJson }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- /* The elements of a mapping. */}}
{{- define "promcost.elements" }}
{{- range $key, $value := . }}
{{ toJson $key }}: {{ toJson $value }}
{{- end }}
{{- end }}

{{- /* The labels that values give all objects, as JSON. */}}
{{- define "promcost.common" }}
{{- $global := .Values.global | default dict }}
{{- $shared := dict }} {{- /* by all charts: what these objects set by themselves is meant for others, and numbers are texts */}}
{{- range $name, $value := merge dict (get $global "labels" | default dict) (get $global "commonLabels" | default dict) }}
{{- if not (or (hasPrefix "app.kubernetes.io/" $name) (eq $name "grafana_dashboard")) }}
{{- $shared = set $shared $name (toString $value) }}
{{- end }}
{{- end }}
{{- merge dict (.Values.labels | default dict) $shared | toJson }}
{{- end }}

{{- /* The labels of an object: the root, the role, and after the name those that only this object has, if any. */}}
{{- define "promcost.labels" }}
{{- $more := dict }}
{{- if gt (len .) 3 }}
{{- $more = index . 3 | default dict }}
{{- end }}
{{- include "promcost.selector" . }}
app.kubernetes.io/part-of: promcost
{{- include "promcost.elements" (merge dict $more (include "promcost.common" (index . 0) | fromJson)) }}
{{- end }}

{{- /* The namespace of an object, which kubectl gives if promcost manifests is given none. */}}
{{- define "promcost.namespace" }}
{{- with .Release.Namespace }}
namespace: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The metadata of an object, up to its labels: the root, the role, the name, and labels that only this object has, if any. */}}
{{- define "promcost.metadata" }}
name: {{ toJson (index . 2) }}
{{- include "promcost.namespace" (index . 0) }}
labels:
  {{- include "promcost.labels" . | indent 2 }}
{{- end }}

{{- /* The labels of the pods that answer. */}}
{{- define "promcost.answering" }}
{{- include "promcost.selector" (list . "server") }}
{{- end }}

{{- /* The URL of promcost. */}}
{{- define "promcost.url" }}
{{- $name := include "promcost.name" . }}
{{- if and (ne ((.Values.service).targetPort | default "http") "http") (not (.Values.web).secret) }} {{- /* the certificate of which is for the other name */}}
{{- $name = print $name "-direct" }}
{{- end }}
{{- if (.Values.web).secret }}https://{{ $name }}.{{ .Release.Namespace }}.svc:{{ (.Values.service).port }}
{{- else }}http://{{ $name }}:{{ (.Values.service).port }}
{{- end }}
{{- end }}

{{- /* How many older revisions of pods are kept. */}}
{{- define "promcost.revisions" }}
{{- if hasKey .Values "revisionHistoryLimit" }}
revisionHistoryLimit: {{ toJson .Values.revisionHistoryLimit }}
{{- end }}
{{- end }}

{{- /* What a port says about itself where it is asked by HTTPS. */}}
{{- define "promcost.protocol" }}
{{- if (.Values.web).secret }}
appProtocol: https
{{- end }}
{{- end }}

{{- /* How the history is kept: on claims of its own, on one claim that there is, in the pod only, in an object store, or not at all. */}}
{{- define "promcost.keeping" -}}
{{- $storage := .Values.storage | default dict }}
{{- if $storage.secret }}bucket
{{- else if eq (toJson $storage.enabled) "false" }}none
{{- else if $storage.existingClaim }}claim
{{- else if $storage.emptyDir }}pod
{{- else }}claims
{{- end }}
{{- end }}

{{- /* Arguments that say where things are: the history, the config, the prices, the certificate. */}}
{{- define "promcost.files" }}
{{- $keeping := include "promcost.keeping" . }}
{{- if eq $keeping "bucket" }}
- "--storage.config=/etc/promcost/storage/objstore.yaml"
{{- else if eq $keeping "none" }}
- "--storage.path="
{{- else }}
- "--storage.path=/data"
{{- end }}
{{- with (.Values.storage).retention }}
- {{ print "--storage.retention=" . | toJson }}
{{- end }}
- "--config.file=/etc/promcost/config/config.yaml"
{{- if .Values.prices }}
- {{ print "--pricing.file=/etc/promcost/config/" .Values.pricesFile | toJson }}
{{- end }}
{{- if (.Values.web).secret }}
- "--web.config.file=/etc/promcost/config/web-config.yaml"
{{- end }}
{{- end }}

{{- /* Arguments that say what a promcost reads. Kubernetes is to expand nothing in values, here and below. */}}
{{- define "promcost.source" }}
{{- with (.Values.prometheus).url }}
- {{ print "--prometheus.url=" (replace "$" "$$" .) | toJson }}
{{- end }}
{{- if (.Values.prometheus).secret }}
- "--prometheus.http-config=/etc/promcost/prometheus/http-config.yaml"
{{- end }}
{{- end }}

{{- /* Rules of egress to where the values say that something is: the port, to the address where one is given in place of a name. What only a
Secret names is not known here. */}}
{{- define "promcost.egress" }}
{{- $texts := list (.Values.prometheus).url .Values.config .Values.prices (toJson .Values.files) (omit (.Values.flags | default dict) "web.external-url" | toJson) (toJson .Values.extraEnv) }}
{{- range .Values.extraEnv }}
{{- $value := get . "value" | toString }}
{{- if and (regexMatch "^(HTTPS?|ALL)_PROXY$" (get . "name" | toString | upper)) $value (not (contains "://" $value)) }}
{{- $texts = append $texts (print "http://" $value) }}
{{- end }}
{{- end }}
{{- $stores := get (.Values.flags | default dict) "thanos.store" | default list }}
{{- range kindIs "string" $stores | ternary (list $stores) $stores }} {{- /* HOST:PORT, without a scheme */}}
{{- $texts = append $texts (contains "://" . | ternary . (print "grpc://" .)) }}
{{- end }}
{{- range regexFindAll `endpoint["'\\]*:\s*["'\\]*[^\s/"'\\]+:[0-9]+` (toJson .Values.files) -1 }} {{- /* of an object store, without a scheme */}}
{{- $texts = append $texts (regexReplaceAll `^.*[\s"'\\]([^\s"'\\]+)$` . "https://${1}") }}
{{- end }}
{{- $rules := list }}
{{- if regexMatch `insecure["'\\]*:\s*true` (toJson .Values.files) }} {{- /* at the port of HTTP, where it has no other */}}
{{- $rules = append $rules (dict "ports" (list (dict "protocol" "TCP" "port" 80))) }}
{{- end }}
{{- $url := `([a-zA-Z][a-zA-Z0-9+.-]*)://(?:[^/@\s"'\\,]*@)?(\[[0-9a-fA-F:.]+\]|[^/:?#,;\s"'\\)}\]\[]+)(?::([0-9]+))?` }}
{{- range regexFindAll $url (join "\n" $texts) -1 }}
{{- $host := regexReplaceAll $url . "${2}" | trimPrefix "[" | trimSuffix "]" | lower | trimPrefix "::ffff:" }}
{{- $port := regexReplaceAll $url . "${3}" | default (get (dict "http" "80" "https" "443") (regexReplaceAll $url . "${1}" | lower)) | atoi }}
{{- if or (not $port) (regexMatch `^(localhost|127\..*|::1)$` $host) (regexMatch `^[^.:]+$|\.svc(\.cluster\.local)?\.?$` $host) }} {{- /* beside it, or a Service: pods of the cluster may be reached anyway */}}
{{- else if regexMatch `^((25[0-5]|2[0-4][0-9]|1?[1-9]?[0-9]|1[0-9][0-9])(\.|$)){4}$` $host }}
{{- $rules = append $rules (dict "to" (list (dict "ipBlock" (dict "cidr" (print $host "/32")))) "ports" (list (dict "protocol" "TCP" "port" $port))) }}
{{- else if contains ":" $host }}
{{- $rules = append $rules (dict "to" (list (dict "ipBlock" (dict "cidr" (print $host "/128")))) "ports" (list (dict "protocol" "TCP" "port" $port))) }}
{{- else if ne $port 443 }}
{{- $rules = append $rules (dict "ports" (list (dict "protocol" "TCP" "port" $port))) }}
{{- end }}
{{- end }}
{{- if hasKey ((.Values.serviceAccount).annotations | default dict) "iam.gke.io/gcp-service-account" }} {{- /* GKE's metadata server, and where it listens */}}
{{- range $cidr, $port := dict "169.254.169.254/32" 80 "169.254.169.252/32" 988 }}
{{- $rules = append $rules (dict "to" (list (dict "ipBlock" (dict "cidr" $cidr))) "ports" (list (dict "protocol" "TCP" "port" $port))) }}
{{- end }}
{{- end }}
{{- range $rules | uniq }}
- {{ toJson . }}
{{- end }}
{{- end }}

{{- /* Arguments that say by which names it is asked, besides those that it always answers to. */}}
{{- define "promcost.hosts" }}
{{- $hosts := list }}
{{- with .Release.Namespace }}
{{- $hosts = append $hosts (print (include "promcost.name" $) "." .) }}
{{- end }}
{{- if (.Values.ingress).enabled }}
{{- $hosts = append $hosts .Values.ingress.host }}
{{- range .Values.ingress.hosts }}
{{- $hosts = append $hosts (get . "host") }}
{{- end }}
{{- end }}
{{- if (.Values.httpRoute).enabled }}
{{- $hosts = concat $hosts (.Values.httpRoute.hostnames | default list) }}
{{- end }}
{{- if (.Values.route).enabled }}
{{- $hosts = append $hosts .Values.route.host }}
{{- end }}
{{- range $hosts | compact | uniq }}
- {{ print "--web.allowed-hosts=" (replace "$" "$$" .) | toJson }}
{{- end }}
{{- end }}

{{- /* Arguments that values give as flags: the root, and the names of the flags that are left out. */}}
{{- define "promcost.flags" }}
{{- $left := index . 1 }}
{{- range $name, $value := (index . 0).Values.flags }}
{{- if has $name $left }}
{{- else if kindIs "bool" $value }}
- {{ if $value }}{{ print "--" $name | toJson }}{{ else }}{{ print "--no-" $name | toJson }}{{ end }}
{{- else if kindIs "slice" $value }}
{{- range $value }}
- {{ print "--" $name "=" (replace "$" "$$" .) | toJson }}
{{- end }}
{{- else }}
- {{ print "--" $name "=" (replace "$" "$$" $value) | toJson }}
{{- end }}
{{- end }}
{{- end }}

{{- /* How it is asked whether a container lives, and whether it is ready: the port, both paths, and whether by HTTPS. */}}
{{- define "promcost.probes" }}
startupProbe:
  httpGet: {path: {{ index . 1 }}, port: {{ index . 0 }}{{ if index . 3 }}, scheme: HTTPS{{ end }}}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: {{ index . 1 }}, port: {{ index . 0 }}{{ if index . 3 }}, scheme: HTTPS{{ end }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: {{ index . 2 }}, port: {{ index . 0 }}{{ if index . 3 }}, scheme: HTTPS{{ end }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{- /* The requests of a container, and the limit of its memory: processor, memory, limit. */}}
{{- define "promcost.requests" }}
resources:
  requests: {cpu: {{ index . 0 | toJson }}, memory: {{ index . 1 | toJson }}}
  limits: {memory: {{ index . 2 | toJson }}}
{{- end }}

{{- /* The requests and limits of promcost, which follow from the number of pods. They come from the figures of BENCHMARKS.md, the memory
of a question about a day ("Memory", first table) and of filling a history (below it), which the first start does: 35 MB and as much for
200 pods, 116 and 209 MB for 3,000, 347 and 423 MB for 10,000. For 30,000 pods it is 717 MB and three times the history of 10,000; for
more, the 1.6 GB of 100,000 ("100,000 pods") for both. What is requested is the larger one and the 49 MB of a server at rest. The ceiling
is such that questions, which may take (ceiling - 100 MB) / 1.5, get twice the sum. Closing an hour takes 1.3 s of processor time for
3,000 pods and 50 to 71 s for 100,000, and filling a day 15 s for 3,000: a request of some hundredths of a core would do, but the first
answers would be slow. There is no ceiling of CPU: what is computed once an hour would only take longer. */}}
{{- define "promcost.resources" }}
{{- $pods := int .Values.pods }}
{{- if .Values.resources }}
resources: {{ toJson .Values.resources }}
{{- else if le $pods 300 }}
{{- include "promcost.requests" (list "50m" "128Mi" "512Mi") }}
{{- else if le $pods 3000 }}
{{- include "promcost.requests" (list "100m" "256Mi" "1152Mi") }}
{{- else if le $pods 10000 }}
{{- include "promcost.requests" (list "250m" "512Mi" "2560Mi") }}
{{- else if le $pods 30000 }}
{{- include "promcost.requests" (list "500m" "1280Mi" "6Gi") }}
{{- else }}
{{- include "promcost.requests" (list "1" "1664Mi" "10Gi") }}
{{- end }}
{{- end }}

{{- /* A security context, as JSON: the root and the name of its value. Values of charts that had no such values are those of this chart. Where
the cluster is OpenShift, which gives pods of each namespace users and groups of its own, those of the image are left out. */}}
{{- define "promcost.context" }}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
{{- $defaults := index ($root.Files.Get "defaults/security-contexts.json" | fromJson) $name }}
{{- $context := get $root.Values $name | default dict }}
{{- if not (hasKey $root.Values "extraEnv") }}
{{- $context = $defaults }}
{{- end }}
{{- if eq (get $context "enabled" | toJson) "false" }}
{{- $context = dict }}
{{- end }}
{{- $context = omit $context "enabled" }}
{{- $adapt := dig "compatibility" "openshift" "adaptSecurityContext" "auto" ($root.Values.global | default dict) }}
{{- if and (ne $adapt "disabled") (or (eq $adapt "force") ($root.Capabilities.APIVersions.Has "security.openshift.io/v1")) }}
{{- range list "runAsUser" "runAsGroup" "fsGroup" }}
{{- if eq (get $context . | toJson) (get $defaults . | toJson) }}
{{- $context = omit $context . }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $context }}
{{- end }}

{{- /* The security context of a container: the root. */}}
{{- define "promcost.restricted" }}
{{- with include "promcost.context" (list . "securityContext") | fromJson }}
securityContext: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The name of an image: the root, the repository and the digest. A registry that all charts share takes the place of the image's own. */}}
{{- define "promcost.image" -}}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
{{- $global := $root.Values.global | default dict }}
{{- with get $global "imageRegistry" | default (get (get $global "image" | default dict) "registry") }}
{{- $name = print (trimSuffix "/" .) "/" (regexReplaceAll "^(localhost|[^/]*[.:][^/]*)/" $name "") }}
{{- end }}
{{- with index . 2 }}{{ $name }}@{{ . }}
{{- else }}{{ $name }}:{{ ($root.Values.image).tag }}
{{- end }}
{{- end }}

{{- /* The Secrets of registries, which charts of charts name by texts, too. */}}
{{- define "promcost.pullSecrets" }}
{{- $global := .Values.global | default dict }}
{{- $secrets := list }}
{{- range concat ((.Values.image).pullSecrets | default list) (get $global "imagePullSecrets" | default list) (get (get $global "image" | default dict) "pullSecrets" | default list) }}
{{- if kindIs "string" . }}
{{- $secrets = append $secrets (dict "name" .) }}
{{- else }}
{{- $secrets = append $secrets . }}
{{- end }}
{{- end }}
{{- with $secrets | uniq }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* Where promcost has its files. */}}
{{- define "promcost.mounts" }}
- {name: promcost-config, mountPath: /etc/promcost/config, readOnly: true}
{{- if (.Values.bills).existingClaim }}
- {name: promcost-bills, mountPath: /etc/promcost/config/bills, readOnly: true}
{{- end }}
{{- if (.Values.prometheus).secret }}
- {name: promcost-prometheus, mountPath: /etc/promcost/prometheus, readOnly: true}
{{- end }}
{{- if (.Values.storage).secret }}
- {name: promcost-storage, mountPath: /etc/promcost/storage, readOnly: true}
{{- end }}
{{- if (.Values.web).secret }}
- {name: promcost-web, mountPath: /etc/promcost/web, readOnly: true}
{{- end }}
{{- range .Values.extraVolumeMounts }}
- {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The volumes of those files, and one for temporary files. */}}
{{- define "promcost.volumes" }}
- name: promcost-tmp
  emptyDir: {}
- name: promcost-config
  {{- if (.Values.bills).secret }}
  projected:
    sources:
      - configMap: {name: {{ include "promcost.name" . | toJson }}}
      - secret: {name: {{ toJson .Values.bills.secret }}}
  {{- else }}
  configMap: {name: {{ include "promcost.name" . | toJson }}}
  {{- end }}
{{- with (.Values.bills).existingClaim }}
- name: promcost-bills
  persistentVolumeClaim: {claimName: {{ toJson . }}, readOnly: true}
{{- end }}
{{- with (.Values.prometheus).secret }}
- name: promcost-prometheus
  secret: {secretName: {{ toJson . }}}
{{- end }}
{{- with (.Values.storage).secret }}
- name: promcost-storage
  secret: {secretName: {{ toJson . }}}
{{- end }}
{{- with (.Values.web).secret }}
- name: promcost-web
  secret: {secretName: {{ toJson . }}}
{{- end }}
{{- range .Values.extraVolumes }}
- {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The labels of pods: the root and the role. */}}
{{- define "promcost.podLabels" }}
{{- $root := index . 0 }}
{{- include "promcost.selector" . }}
{{- include "promcost.elements" (merge dict ($root.Values.podLabels | default dict) (($root.Values.pod).labels | default dict) (include "promcost.common" $root | fromJson)) }}
{{- end }}

{{- /* The annotations of pods. */}}
{{- define "promcost.podAnnotations" }}
{{- include "promcost.elements" (merge dict (.Values.podAnnotations | default dict) ((.Values.pod).annotations | default dict)) }}
{{- end }}

{{- /* How pods run, and where. */}}
{{- define "promcost.running" }}
enableServiceLinks: false
{{- with include "promcost.context" (list . "podSecurityContext") | fromJson }}
securityContext: {{ toJson . }}
{{- end }}
{{- include "promcost.pullSecrets" . }}
{{- with .Values.priorityClassName | default (.Values.pod).priorityClass }}
priorityClassName: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector | default (.Values.pod).nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.affinity | default (.Values.pod).affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations | default (.Values.pod).tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The selector and the template of pods of promcost: the root and the role. Pods of the role server compute, or answer from the history
that those of the role shard fill, where there are some. */}}
{{- define "promcost.pods" }}
{{- $root := index . 0 }}
{{- $role := index . 1 }}
{{- $keeping := include "promcost.keeping" $root }}
{{- $reads := and $root.Values.shards (eq $role "server") }}
{{- $left := list }} {{- /* flags that pods of the role do not take */}}
{{- if $reads }}
{{- $left = $root.Files.Lines "files/source-flags.txt" }}
{{- else if eq $role "shard" }}
{{- $left = list "promql.passthrough" }}
{{- end }}
selector:
  matchLabels:
    {{- include "promcost.selector" . | indent 4 }}
template:
  metadata:
    labels:
      {{- include "promcost.podLabels" . | indent 6 }}
    annotations:
      {{- /* A changed ConfigMap makes new pods. */}}
      promcost.io/config-hash: {{ print $root.Values.config "\n" $root.Values.prices "\n" $root.Values.pricesFile "\n" (toJson $root.Values.files) | sha256sum | toJson }}
      {{- include "promcost.podAnnotations" $root | indent 6 }}
  spec:
    serviceAccountName: {{ include "promcost.account" $root | toJson }}
    automountServiceAccountToken: false
    {{- include "promcost.running" $root | indent 4 }}
    {{- with $root.Values.initContainers }}
    initContainers: {{ toJson . }}
    {{- end }}
    containers:
      - name: promcost
        image: {{ include "promcost.image" (list $root ($root.Values.image).repository ($root.Values.image).digest) | toJson }}
        imagePullPolicy: {{ toJson ($root.Values.image).pullPolicy }}
        args:
          - serve
          {{- if $reads }}
          - "--source=none"
          {{- else }}
          {{- include "promcost.source" $root | indent 10 }}
          {{- end }}
          {{- include "promcost.files" $root | indent 10 }}
          {{- include "promcost.hosts" $root | indent 10 }}
          {{- include "promcost.flags" (list $root $left) | indent 10 }}
          {{- if eq $role "shard" }}
          - {{ print "--shard=$(SHARD)/" $root.Values.shards | toJson }}
          {{- end }}
        {{- if or (eq $role "shard") $root.Values.extraEnv }}
        env:
          {{- if eq $role "shard" }}
          {{- /* Each share is named by the ordinal of its pod, which begins at 1 and is in a label. */}}
          - name: SHARD
            valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
          {{- end }}
          {{- range $root.Values.extraEnv }}
          - {{ toJson . }}
          {{- end }}
        {{- end }}
        ports:
          - {name: http, containerPort: 9003}
        {{- include "promcost.probes" (list "http" "/-/healthy" "/-/ready" ($root.Values.web).secret) | indent 8 }}
        {{- include "promcost.resources" $root | indent 8 }}
        {{- include "promcost.restricted" $root | indent 8 }}
        volumeMounts:
          - {name: promcost-tmp, mountPath: /tmp, readOnly: false}
          {{- if has $keeping (list "claims" "claim" "pod") }}
          - {name: history, mountPath: /data, readOnly: false}
          {{- end }}
          {{- include "promcost.mounts" $root | indent 10 }}
      {{- range $root.Values.extraContainers }}
      - {{ toJson . }}
      {{- end }}
    volumes:
      {{- include "promcost.volumes" $root | indent 6 }}
      {{- if eq $keeping "claim" }}
      - name: history
        persistentVolumeClaim: {claimName: {{ toJson $root.Values.storage.existingClaim }}}
      {{- else if eq $keeping "pod" }}
      - name: history
        emptyDir: {}
      {{- end }}
{{- end }}

{{- /* What pods that ask promcost are to the cluster. */}}
{{- define "promcost.asking" }}
serviceAccountName: {{ include "promcost.account" . | toJson }}
automountServiceAccountToken: false
{{- with include "promcost.context" (list . "podSecurityContext") | fromJson }}
securityContext: {{ toJson . }}
{{- end }}
{{- include "promcost.pullSecrets" . }}
{{- end }}

{{- /* The image, the requests and the rights of a container that asks promcost. */}}
{{- define "promcost.asks" }}
image: {{ include "promcost.image" (list . (.Values.image).repository (.Values.image).digest) | toJson }}
imagePullPolicy: {{ toJson (.Values.image).pullPolicy }}
{{- include "promcost.requests" (list "10m" "64Mi" "256Mi") }}
{{- include "promcost.restricted" . }}
{{- end }}

{{- /* How such a container trusts the certificate of promcost. */}}
{{- define "promcost.certificate" }}
{{- if (.Values.web).secret }}
env:
  - {name: SSL_CERT_FILE, value: /etc/promcost/web/ca.crt}
{{- end }}
{{- end }}
