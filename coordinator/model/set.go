package model

import "strings"

// SetOf is the name of the StatefulSet of a pod, read off the pod's name.
func SetOf(pod string) string { return pod[:max(0, strings.LastIndexByte(pod, '-'))] }
