package provision

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// copyEvery is how soon it is looked for a changed password of a Secret that is copied.
const copyEvery = time.Minute

// credentialKeys are what is copied of a Secret with credentials.
var credentialKeys = []string{"username", "password", "replication-username", "replication-password"}

// copied is the credentials of one Secret, by key, for pods that cannot mount it. It is empty if there
// are none.
type copied struct {
	from string
	data map[string][]byte
}

// copyCredentials reads the Secret that the cluster names, if a running pod has an agent that mounts
// neither it nor another one that it may use: what a pod mounts cannot be changed. Once such
// pods are gone, nothing is copied. What whoever may write the Secret does not allow is not read.
func (p *Provisioner) copyCredentials(
	ctx context.Context, cluster *v1alpha1.DatabaseCluster, mounted []string, allowed consented, data map[string][]byte, present config.File,
) (copied, error) {
	name := v1alpha1.CredentialsSecretOf(cluster)
	told := config.File{Secrets: allowed.secrets}
	lacks := func(mount string) bool { return mount != name && !told.Usable(mount) }
	if cluster.Spec.Engine == model.FoundationDB || !told.Usable(name) || !slices.ContainsFunc(mounted, lacks) {
		return copied{}, nil
	}
	secret, err := p.opts.Client.CoreV1().Secrets(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return copied{}, nil // since it was looked at; the next look says so
	}
	if err != nil {
		before := copied{}
		if present.Copied == name {
			before = copied{from: name, data: map[string][]byte{}}
			for _, key := range credentialKeys {
				before.data[key] = data[config.CopiedPrefix+key]
			}
		}
		return before, fmt.Errorf("secret %s: %w", name, err)
	}
	if !consent.Given(&secret.ObjectMeta, cluster.Name) {
		return copied{}, consent.NotGiven(&secret.ObjectMeta, cluster.Name)
	}
	return copied{from: name, data: secret.Data}, nil
}

// private is what the agents' Secret holds of the database's Secrets, by key; nil means that it holds
// none of it.
func (in secretInput) private() map[string][]byte {
	out := map[string][]byte{config.KeyClientKey: in.client.key}
	for _, key := range credentialKeys {
		out[config.CopiedPrefix+key] = in.copied.data[key]
	}
	return out
}
