// Package stophook hands over when the kubelet is about to stop the pod, and undoes
// that if the pod was not stopped.
package stophook
