package model

import (
	"strconv"
	"strings"
)

// SetOf reads the name of a pod's StatefulSet off that of the pod; empty when it has none.
func SetOf(pod string) string { return pod[:max(0, strings.LastIndexByte(pod, '-'))] }

// IsOf reports whether a pod has the name that a StatefulSet gives one of its pods.
func IsOf(pod, set string) bool {
	ordinal, ok := strings.CutPrefix(pod, set+"-")
	n, err := strconv.Atoi(ordinal)
	return ok && err == nil && strconv.Itoa(n) == ordinal && n >= 0
}
