package kube

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// What is kept of an object that others write is bounded: it is in the memory of every coordinator,
// and Kubernetes accepts objects of 1.5 MiB.
const (
	// MaxSelector bounds a label selector, as counted by SelectorSize. A StatefulSet's selector is
	// part of the URL with which its pods are listed.
	MaxSelector = 8 << 10
	// MaxPools is the maximum for one DatabaseCluster. Each pool has a watch of its own, of about
	// 100 KiB.
	MaxPools = 256

	// MaxMissing is how many more pods the StatefulSets of one DatabaseCluster may desire than
	// exist. Each takes memory in a decision, and setting spec.replicas costs its author nothing.
	MaxMissing = 1000

	maxName     = 512
	maxImage    = 1 << 10
	maxTogether = 4 << 10 // of a text that is composed of many
	maxLabels   = 16 << 10
	maxProblem  = 1 << 10
)

// SelectorSize returns about how many bytes a selector takes in memory. Short values take more than
// their length.
func SelectorSize(s *metav1.LabelSelector) int {
	if s == nil {
		return 0
	}
	const each = 32
	size := 0
	for key, value := range s.MatchLabels {
		size += 2*each + len(key) + len(value)
	}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		size += each + len(e.Key)
		for _, value := range e.Values {
			size += each + len(value)
		}
	}
	return size
}

// missing counts the pods that pools desire and that do not exist.
func missing(pools []Pool, pods []Pod) int {
	there := map[string]int{}
	for i := range pods {
		there[pods[i].Pool]++
	}
	n := 0
	for i := range pools {
		n += max(0, pools[i].Replicas-there[pools[i].Name])
	}
	return n
}

// bounded returns a text that is kept. Of a text that is longer than necessary it returns the
// beginning and a digest, so that two that differ still do.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	digest := fmt.Sprintf("#%x", sha256.Sum256([]byte(text)))
	return v1alpha1.Cut(text, most-len(digest)) + digest
}

// brief returns what is kept and logged of an error of a watch. An error of a request begins with
// its URL, which may be so long that people do not find the end.
func brief(err error) string {
	text := err.Error()
	if request := (*url.Error)(nil); errors.As(err, &request) {
		text = strings.ReplaceAll(text, request.URL, v1alpha1.Cut(request.URL, maxProblem/4))
	}
	return v1alpha1.Cut(text, maxProblem)
}
