{{- /* Parts of objects. Most take the root and the role of pods, which is the label app.kubernetes.io/component. Values become
JSON, which is YAML of one line: no text can end it. Sections are read as (.Values.section).name, for helm upgrade --reuse-values
takes the values of an older chart, which may lack the section. Each part begins a new line by itself, so it is included with {{- and indent. */}}

{{- /* The labels by which pods of a role are selected. They never change. */}}
{{- define "promcost.selector" }}
{{- $root := index . 0 }}
app.kubernetes.io/name: promcost
app.kubernetes.io/instance: {{ toJson $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- /* The elements of a mapping. */}}
{{- define "promcost.elements" }}
{{- range $key, $value := . }}
{{ toJson $key }}: {{ toJson $value }}
{{- end }}
{{- end }}

{{- /* The labels of an object. */}}
{{- define "promcost.labels" }}
{{- include "promcost.selector" . }}
app.kubernetes.io/part-of: promcost
{{- include "promcost.elements" (index . 0).Values.labels }}
{{- end }}

{{- /* The namespace of an object, which kubectl gives if promcost manifests is given none. */}}
{{- define "promcost.namespace" }}
{{- with .Release.Namespace }}
namespace: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The metadata of an object, up to its labels: the root, the role and the name. */}}
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
{{- if (.Values.web).secret }}https://{{ .Release.Name }}.{{ .Release.Namespace }}.svc:{{ (.Values.service).port }}
{{- else }}http://{{ .Release.Name }}:{{ (.Values.service).port }}
{{- end }}
{{- end }}

{{- /* What a port says about itself where it is asked by HTTPS. */}}
{{- define "promcost.protocol" }}
{{- if (.Values.web).secret }}
appProtocol: https
{{- end }}
{{- end }}

{{- /* Arguments that say where things are: the history, the config, the prices, the certificate. */}}
{{- define "promcost.files" }}
{{- if (.Values.storage).secret }}
- "--storage.config=/etc/promcost/storage/objstore.yaml"
{{- else }}
- "--storage.path=/data"
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
- {{ print "--prometheus.url=" (replace "$" "$$" (.Values.prometheus).url) | toJson }}
{{- if (.Values.prometheus).secret }}
- "--prometheus.http-config=/etc/promcost/prometheus/http-config.yaml"
{{- end }}
{{- end }}

{{- /* Arguments that say by which names it is asked, besides those that it always answers to. */}}
{{- define "promcost.hosts" }}
{{- with .Release.Namespace }}
- {{ print "--web.allowed-hosts=" $.Release.Name "." . | toJson }}
{{- end }}
{{- if and (.Values.ingress).enabled .Values.ingress.host }}
- {{ print "--web.allowed-hosts=" (replace "$" "$$" .Values.ingress.host) | toJson }}
{{- end }}
{{- if (.Values.httpRoute).enabled }}
{{- range .Values.httpRoute.hostnames }}
- {{ print "--web.allowed-hosts=" (replace "$" "$$" .) | toJson }}
{{- end }}
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

{{- /* What the Pod Security level restricted asks of a container, and a root that is read only. */}}
{{- define "promcost.restricted" }}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* Where promcost has its files. */}}
{{- define "promcost.mounts" }}
- {name: promcost-config, mountPath: /etc/promcost/config, readOnly: true}
{{- if (.Values.prometheus).secret }}
- {name: promcost-prometheus, mountPath: /etc/promcost/prometheus, readOnly: true}
{{- end }}
{{- if (.Values.storage).secret }}
- {name: promcost-storage, mountPath: /etc/promcost/storage, readOnly: true}
{{- end }}
{{- if (.Values.web).secret }}
- {name: promcost-web, mountPath: /etc/promcost/web, readOnly: true}
{{- end }}
{{- end }}

{{- /* The volumes of those files, and one for temporary files. */}}
{{- define "promcost.volumes" }}
- name: promcost-tmp
  emptyDir: {}
- name: promcost-config
  configMap: {name: {{ toJson .Release.Name }}}
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
{{- end }}

{{- /* The labels of pods: the root and the role. */}}
{{- define "promcost.podLabels" }}
{{- include "promcost.selector" . }}
{{- include "promcost.elements" (index . 0).Values.labels }}
{{- include "promcost.elements" ((index . 0).Values.pod).labels }}
{{- end }}

{{- /* How pods run: as the user and the group that the image names, and where values say. */}}
{{- define "promcost.running" }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with (.Values.image).pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with (.Values.pod).priorityClass }}
priorityClassName: {{ toJson . }}
{{- end }}
{{- with (.Values.pod).nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with (.Values.pod).affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- with (.Values.pod).tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The selector and the template of pods of promcost: the root and the role. Pods of the role server compute, or answer from the history
that those of the role shard fill, where there are some. */}}
{{- define "promcost.pods" }}
{{- $root := index . 0 }}
{{- $role := index . 1 }}
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
      promcost.io/config-hash: {{ print $root.Values.config "\n" $root.Values.prices "\n" $root.Values.pricesFile | sha256sum | toJson }}
      {{- include "promcost.elements" ($root.Values.pod).annotations | indent 6 }}
  spec:
    serviceAccountName: {{ toJson $root.Release.Name }}
    automountServiceAccountToken: false
    {{- include "promcost.running" $root | indent 4 }}
    containers:
      - name: promcost
        image: {{ print ($root.Values.image).repository ":" ($root.Values.image).tag | toJson }}
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
        {{- if eq $role "shard" }}
        env:
          {{- /* Each share is named by the ordinal of its pod, which begins at 1 and is in a label. */}}
          - name: SHARD
            valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
        {{- end }}
        ports:
          - {name: http, containerPort: 9003}
        {{- include "promcost.probes" (list "http" "/-/healthy" "/-/ready" ($root.Values.web).secret) | indent 8 }}
        {{- include "promcost.resources" $root | indent 8 }}
        securityContext:
          {{- include "promcost.restricted" $root | indent 10 }}
        volumeMounts:
          - {name: promcost-tmp, mountPath: /tmp, readOnly: false}
          {{- if not ($root.Values.storage).secret }}
          - {name: history, mountPath: /data, readOnly: false}
          {{- end }}
          {{- include "promcost.mounts" $root | indent 10 }}
    volumes:
      {{- include "promcost.volumes" $root | indent 6 }}
{{- end }}
