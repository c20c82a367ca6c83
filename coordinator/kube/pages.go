package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is how many objects are read at once, by commands that have little memory. Each may
// take 1.5 MiB, and some times that once it is decoded.
const pageSize = 2

// Pages has list called for each page of a list, of as many objects as the options say, until it answers that there is no other.
// What has changed since the first one is as it was, unless that has taken too long for the
// API server to know it: then it is as it is.
func Pages(options metav1.ListOptions, list func(metav1.ListOptions) (more string, err error)) error {
	if options.Limit == 0 {
		options.Limit = pageSize
	}
	for {
		more, err := list(options)
		if again := fresh(err); again != "" && again != options.Continue {
			more, err = again, nil
		}
		if err != nil || more == "" {
			return err
		}
		options.Continue = more
	}
}

// fresh is where a list goes on that has expired; empty for any other error.
func fresh(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsResourceExpired(err) {
		return ""
	}
	return status.Status().ListMeta.Continue
}
