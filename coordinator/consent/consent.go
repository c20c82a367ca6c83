package consent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

const (
	// maxHosts bounds what is read from an annotation.
	maxHosts = 32
	// maxLabel is how long the value of a label may be.
	maxLabel = 63
)

// plain matches host names and addresses, with or without a port.
var plain = regexp.MustCompile(`^([A-Za-z0-9._:-]{1,260}|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?)$`)

// Given reports whether a Secret is for the DatabaseCluster: its label names it, alone or among
// others with dots between them.
func Given(secret *metav1.ObjectMeta, cluster string) bool {
	return cluster != "" && !Own(secret) && slices.Contains(strings.Split(secret.Labels[v1alpha1.LabelCluster], "."), cluster)
}

// Own reports whether a Secret is Rollcall's own. Those have the label, too, and hold keys of
// agents.
func Own(secret *metav1.ObjectMeta) bool {
	return secret.Labels[pki.LabelPartOf] == pki.PartOf
}

// Hosts returns the hosts to which agents may send the Secret's content, besides their own pod, as
// they are written there: host, which means the usual port, or host:port.
func Hosts(secret *metav1.ObjectMeta) []string {
	var hosts []string
	for _, host := range strings.FieldsFunc(secret.Annotations[v1alpha1.AnnotationAllowHosts], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		if plain.MatchString(host) && len(hosts) < maxHosts {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Refusal says why something that a DatabaseCluster names is not used, and what would be right.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Split returns the refusals in an error, one sentence each, and whether there is more in it.
func Split(err error) (refused string, failed bool) {
	var texts []string
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) { //nolint:errorlint // each level is checked separately
		case nil:
		case Refusal:
			if !slices.Contains(texts, string(e)) {
				texts = append(texts, string(e))
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
				return
			}
			failed = true
		default:
			failed = true
		}
	}
	walk(err)
	return strings.Join(texts, "; "), failed
}

// Missing is for a Secret that is not there.
func Missing(namespace, name, cluster string) Refusal {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return Refusal(fmt.Sprintf("%q can be the name of no Secret", name))
	}
	return Refusal(fmt.Sprintf("there is no Secret %s/%s: make it with the label %s=%s", namespace, name, v1alpha1.LabelCluster, cluster))
}

// NotGiven is for a Secret without the label.
func NotGiven(secret *metav1.ObjectMeta, cluster string) Refusal {
	if Own(secret) {
		return Refusal(fmt.Sprintf("Secret %s is Rollcall's own and holds no credentials of a database: name another", id(secret)))
	}
	return Refusal(fmt.Sprintf("Secret %s has no label that allows it for DatabaseCluster %s; whoever may write the Secret allows it: %s",
		id(secret), cluster, LabelCommand(secret, cluster)))
}

// HostNotAllowed is for a host that the Secret does not name. field is that of the spec. The editor
// of the spec wrote the host, so it becomes part of a command only if it is a valid host.
func HostNotAllowed(field, host string, secret *metav1.ObjectMeta) Refusal {
	if !plain.MatchString(host) {
		return Refusal(fmt.Sprintf("%s is %q, which is no name or address of a host", field, host))
	}
	return Refusal(fmt.Sprintf("%s is %s, which Secret %s does not allow; whoever may write the Secret allows it: %s",
		field, host, id(secret), HostCommand(secret, host)))
}

// HostWithoutSecret is for a host if no Secret exists that could allow it.
func HostWithoutSecret(field, host string, secret *metav1.ObjectMeta, cluster string) Refusal {
	if !plain.MatchString(host) {
		return HostNotAllowed(field, host, secret)
	}
	return Refusal(fmt.Sprintf("%s is %s, which a Secret must allow, and there is no Secret %s: make it, with the label %s=%s and the annotation %s=%s",
		field, host, id(secret), v1alpha1.LabelCluster, cluster, v1alpha1.AnnotationAllowHosts, host))
}

// id of a Secret. One of a chart often names no namespace.
func id(secret *metav1.ObjectMeta) string {
	if secret.Namespace == "" {
		return secret.Name
	}
	return secret.Namespace + "/" + secret.Name
}

func within(secret *metav1.ObjectMeta) string {
	if secret.Namespace == "" {
		return ""
	}
	return " -n " + secret.Namespace
}

// Label returns the value that allows a Secret for the DatabaseCluster, in addition to those for
// which it is allowed. There may be no room.
func Label(secret *metav1.ObjectMeta, cluster string) (value string, fits bool) {
	value = cluster
	if other := secret.Labels[v1alpha1.LabelCluster]; other != "" {
		value = other + "." + cluster
	}
	return value, len(value) <= maxLabel
}

// LabelCommand returns the command that sets it.
func LabelCommand(secret *metav1.ObjectMeta, cluster string) string {
	value, fits := Label(secret, cluster)
	if !fits {
		return "its label is full, so make a Secret of its own for this one, with the label " + v1alpha1.LabelCluster + "=" + cluster
	}
	overwrite := ""
	if value != cluster {
		overwrite = " --overwrite"
	}
	return fmt.Sprintf("kubectl%s label secret %s %s=%s%s", within(secret), secret.Name, v1alpha1.LabelCluster, value, overwrite)
}

// HostCommand returns the command that allows one more host, or one at a port.
func HostCommand(secret *metav1.ObjectMeta, host string) string {
	overwrite, hosts := "", Hosts(secret)
	if len(hosts) > 0 {
		overwrite = " --overwrite"
	}
	value := strings.Join(append(hosts, host), ",")
	if strings.Contains(value, "[") {
		value = "'" + value + "'" // a shell would look for files
	}
	return fmt.Sprintf("kubectl%s annotate secret %s %s=%s%s", within(secret), secret.Name, v1alpha1.AnnotationAllowHosts, value, overwrite)
}

// Of returns what agents are told about an existing Secret.
func Of(secret *metav1.ObjectMeta, cluster string) config.Secret {
	if !Given(secret, cluster) {
		return config.Secret{Refused: string(NotGiven(secret, cluster))}
	}
	return config.Secret{Addresses: Hosts(secret)}
}
