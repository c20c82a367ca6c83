{{- define "rollcall.labels" -}}
app.kubernetes.io/name: rollcall
app.kubernetes.io/part-of: rollcall
app.kubernetes.io/component: coordinator
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
