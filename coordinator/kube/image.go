package kube

import "strings"

// Tag returns the tag of an image reference. It is empty if there is none.
func Tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	colon := strings.LastIndexByte(image, ':')
	if colon < strings.LastIndexByte(image, '/') || colon < 0 {
		return "" // it belongs to a port, or there is none
	}
	return image[colon+1:]
}
