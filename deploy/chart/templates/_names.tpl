{{- define "rollcall.labels" -}}
app.kubernetes.io/name: rollcall
app.kubernetes.io/part-of: rollcall
app.kubernetes.io/component: coordinator
{{- end }}

{{- /* Of what runs once: no Service and no budget of the coordinators selects it. */ -}}
{{- define "rollcall.guardLabels" -}}
app.kubernetes.io/name: rollcall-guard
app.kubernetes.io/part-of: rollcall
app.kubernetes.io/component: guard
{{- end }}

{{- define "rollcall.selector" -}}
app.kubernetes.io/name: rollcall
app.kubernetes.io/component: coordinator
{{- end }}

{{- /* An image by digest, or by tag, or by the chart's appVersion. */ -}}
{{- define "rollcall.image" -}}
{{- $image := index . 0 -}}
{{- $default := index . 1 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default $default }}
{{- end -}}
{{- end }}

{{- /* The template of a pod that runs the command line once, with these arguments, as this account. */ -}}
{{- define "rollcall.guardPod" -}}
{{- $ := index . 0 -}}
metadata:
  labels:
    {{- include "rollcall.guardLabels" $ | nindent 4 }}
spec:
  serviceAccountName: {{ index . 2 }}
  automountServiceAccountToken: true
  restartPolicy: Never
  {{- with $.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: guard
      image: {{ include "rollcall.image" (list $.Values.image $.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      command: [/rollcall]
      args:
        {{- toYaml (index . 1) | nindent 8 }}
      resources:
        requests: { cpu: 10m, memory: 32Mi }
        limits: { memory: 128Mi }
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
{{- end }}

{{- /* Annotations of a hook, which is made in the order of the weights, and gone when it has succeeded. */ -}}
{{- define "rollcall.removeHook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: "{{ . }}"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- /* Names and the API server, as rules of a NetworkPolicy. */ -}}
{{- define "rollcall.egress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
- ports:
    {{- range .apiServerPorts | default (list 443 6443) }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
