package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Bounds of what is decoded. Kubernetes itself has none but on bytes, so these are
// far above what runs: TestLargePodGetsItsAgent has a pod of 300 containers.
const (
	maxDepth      = 64
	maxValues     = 200_000 // names and values
	maxContainers = 512
	maxIdentity   = 128 // bytes of a UID, a kind or a version
	// maxWeight is what one review may take, and all that are decoded at a time.
	maxWeight = 64 << 20
)

// errShape is for something that is no realistic pod.
var errShape = errors.New("it is larger than any pod that runs")

// look is what is known about a review before it is decoded: the fields that decide whether it is,
// and the cost.
type look struct {
	types.UID
	metav1.TypeMeta
	// request is true if there is one.
	request bool
	// label and owner are true if the pod contains, anywhere, the label of a DatabaseCluster, and a
	// StatefulSet as owner. A pod without either is not ours.
	label, owner bool

	// values counts names and values, composites the objects, lists, and items of lists among them,
	// wide those of these that take the most memory when empty, and entries the items of maps with
	// arbitrary names.
	values, composites, containers, wide, entries int
	// odd are bytes that are written as more than there were.
	bytes, odd int
}

// looking reads a review token by token. It keeps only the path to the current value, and compares
// names like json.Unmarshal, ignoring case.
type looking struct {
	look
	path  []step
	tally int
}

// step is one object or list on the path.
type step struct {
	list bool
	of   string // the member that it is
	name string // of an object, the member that is read
	key  bool   // of an object: a name comes next
}

// lookAt reads body to its end, or until it is too much.
func lookAt(body []byte) (look, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // a float would fail where Unmarshal does not look
	l := looking{look: look{bytes: len(body)}}
	for _, b := range body {
		if b == '<' || b == '>' || b == '&' || b >= 0x80 {
			l.odd++
		}
	}
	for {
		token, err := decoder.Token()
		if err != nil {
			if errors.Is(err, io.EOF) && l.tally > 0 && len(l.path) == 0 {
				return l.look, nil
			}
			return l.look, err
		}
		if l.tally > 0 && len(l.path) == 0 {
			return l.look, errors.New("trailing data after the review")
		}
		l.tally++
		if err := l.take(token); err != nil {
			return l.look, err
		}
	}
}

func (l *looking) take(token json.Token) error {
	d, delim := token.(json.Delim)
	if delim && (d == '}' || d == ']') {
		l.path = l.path[:len(l.path)-1]
		l.done()
		return nil
	}
	top := l.top()
	name := top != nil && !top.list && top.key
	l.count(top, delim)
	if l.values > maxValues || l.containers > maxContainers || len(l.path) >= maxDepth || l.weight() > maxWeight {
		return errShape
	}
	switch text, ok := token.(string); {
	case name:
		top.name, top.key = text, false
		return nil
	case delim:
		l.open(top, d == '[')
		return nil
	case ok:
		l.read(text)
	}
	l.done()
	return nil
}

// count counts a value. Every item of a list becomes an element, also null and values of another
// type.
func (l *looking) count(top *step, delim bool) {
	l.values++
	if delim || top != nil && top.list {
		l.composites++
	}
	switch {
	case top == nil:
	case top.list && oneOf(containerLists, top.of):
		l.containers++
	case top.list && oneOf(wideLists, top.of):
		l.wide++
	case !top.list && top.key && oneOf(mapNames, top.of):
		l.entries++
	}
}

func (l *looking) top() *step {
	if len(l.path) == 0 {
		return nil
	}
	return &l.path[len(l.path)-1]
}

// done notes the end of a value. In an object a name follows.
func (l *looking) done() {
	if top := l.top(); top != nil && !top.list {
		top.key = true
	}
}

func (l *looking) open(top *step, list bool) {
	next := step{list: list, key: !list}
	if top != nil && !top.list {
		next.of = top.name
	}
	if !list && l.at("request") {
		l.request = true
	}
	l.path = append(l.path, next)
}

var (
	containerLists = []string{"containers", "initContainers", "ephemeralContainers"}
	wideLists      = []string{"volumes", "ownerReferences", "conditions", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}
	// mapNames are all of a pod: TestEveryMapIsKnown.
	mapNames = []string{
		"annotations", "labels", "matchLabels", "nodeSelector", "limits", "requests", "overhead", "resources",
		"allocatedResources", "options", "userAnnotations", "volumeAttributes",
	}
)

func oneOf(names []string, name string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) })
}

// read reads the few texts that matter.
func (l *looking) read(text string) {
	switch {
	case l.at("apiVersion") && len(text) <= maxIdentity:
		l.APIVersion = text
	case l.at("kind") && len(text) <= maxIdentity:
		l.Kind = text
	case l.at("request", "uid") && len(text) <= maxIdentity:
		l.UID = types.UID(text)
	case text != "" && l.at("request", "object", "metadata", "labels", v1alpha1.LabelCluster):
		l.label = true
	case text == "StatefulSet" && l.at("request", "object", "metadata", "ownerReferences", "", "kind"):
		l.owner = true
	}
}

// at reports whether the current value is at a path of names. "" is an object in a list.
func (l *looking) at(names ...string) bool {
	if len(l.path) != len(names) {
		return false
	}
	for i, name := range names {
		if name == "" {
			continue
		}
		if !strings.EqualFold(l.path[i].name, name) {
			return false
		}
	}
	return true
}

// uidOf finds the UID at the beginning of a review, where API servers put it, so that a review that
// is not read can be answered.
func uidOf(head []byte) (look, bool) {
	l, _ := lookAt(head)
	return l, l.UID != ""
}

// weight returns the most bytes that checking, decoding, injecting and answering allocate:
// TestWeightHolds, FuzzReview.
func (l look) weight() int {
	return 128<<10 + 32*l.bytes + 128*l.odd + 200*l.values + 2200*l.composites + 8192*l.containers + 5120*l.wide + 2048*l.entries
}
