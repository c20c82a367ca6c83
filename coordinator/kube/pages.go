package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is how many objects are read at once by commands that have little memory. Each may take
// 1.5 MiB, and several times that once it is decoded.
const pageSize = 2

// Pages calls list for each page of a list, with as many objects as the options say, until there is
// no other page. Later pages show the state of the first one, unless that is too old for the API
// server: then they show the current state.
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

// fresh returns where an expired list continues. It is empty for any other error.
func fresh(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsResourceExpired(err) {
		return ""
	}
	return status.Status().ListMeta.Continue
}
