package model

import "strings"

// SetOf reads the name of a pod's StatefulSet off that of the pod; empty when it has none.
func SetOf(pod string) string { return pod[:max(0, strings.LastIndexByte(pod, '-'))] }
