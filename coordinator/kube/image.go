package kube

import "strings"

// Tag is the tag of an image reference, empty when it has none.
func Tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	colon := strings.LastIndexByte(image, ':')
	if colon < strings.LastIndexByte(image, '/') || colon < 0 {
		return "" // of a port, or none
	}
	return image[colon+1:]
}
