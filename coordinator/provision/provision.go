package provision

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// Options are the options of a Provisioner.
type Options struct {
	Client kubernetes.Interface
	// Metadata is for Secrets of which nothing but the metadata is asked for. If it is nil, agents use
	// no Secret that a DatabaseCluster names.
	Metadata metadata.Interface
	// Authority signs the agents' certificates, such as (*pki.Keeper).Authority.
	Authority func() pki.Authority
	// GossipCIDRs are the only networks from which agents take gossip. Default: any, and of
	// strangers those first who come from where the database's pods are.
	GossipCIDRs []netip.Prefix
	// StopHookCIDRs are networks from which kubelets call the agents' stop hook, beside
	// the nodes' own addresses. Default: any.
	StopHookCIDRs []netip.Prefix

	now func() time.Time
	key func() []byte
}

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil || o.Authority == nil {
		return o, errors.New("provision: a client and an authority are needed")
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.key == nil {
		o.key = newKey
	}
	return o, nil
}

func newKey() []byte {
	key := make([]byte, gossipKeyBytes)
	rand.Read(key) // never fails
	return key
}

// Provisioner keeps the Service and the Secret of DatabaseClusters. It remembers nothing; any
// number of coordinators may call Ensure at once.
type Provisioner struct{ opts Options }

// New checks the options and returns a Provisioner.
func New(opts Options) (*Provisioner, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Provisioner{opts: opts}, nil
}

// Result is the result of Ensure.
type Result struct {
	// Writes is the number of objects that were written.
	Writes int
	// Next is when Ensure must be called again at the latest, to renew certificates.
	Next time.Time
}

// Ensure makes the Service and the Secret of a cluster what they should be,
// and writes only what differs. When the Secret
// that connection.tls.caSecret names cannot be used, all the rest is done, and
// the agents keep the certificates that they were given before. mounted are the Secrets with
// credentials that the cluster's pods mount, and an empty name if one with an agent mounts none. What those who may write a Secret do not allow
// is a consent.Refusal among the errors.
//
// An object of our name that somebody else made is left alone: pki.ErrForeign.
// A lost race is an error that apierrors.IsConflict knows; call again.
func (p *Provisioner) Ensure(ctx context.Context, cluster *v1alpha1.DatabaseCluster, pods kube.Networks, mounted ...string) (Result, error) {
	var result Result
	if cluster.DeletionTimestamp != nil {
		return result, nil // what we made goes with its owner
	}
	name := v1alpha1.DerivedName(cluster.Name)
	// The Secret says which networks agents were told of before.
	gossip, secretErr := p.ensureSecret(ctx, cluster, pods, mounted, &result)
	if secretErr != nil {
		secretErr = fmt.Errorf("secret %s/%s: %w", cluster.Namespace, name, secretErr)
	}
	serviceErr := p.ensureService(ctx, cluster, gossip, &result)
	if serviceErr != nil {
		serviceErr = fmt.Errorf("service %s/%s: %w", cluster.Namespace, name, serviceErr)
	}
	return result, errors.Join(serviceErr, secretErr)
}

func (p *Provisioner) ensureService(ctx context.Context, cluster *v1alpha1.DatabaseCluster, gossip string, result *Result) error {
	services := p.opts.Client.CoreV1().Services(cluster.Namespace)
	present, err := services.Get(ctx, v1alpha1.DerivedName(cluster.Name), metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DerivedName(cluster.Name), Namespace: cluster.Namespace}}
	if !missing {
		if present.Labels[pki.LabelPartOf] != pki.PartOf {
			return pki.ErrForeign
		}
		service = present.DeepCopy()
	}
	if !applyService(service, cluster, gossip) {
		return nil
	}
	if missing {
		_, err = services.Create(ctx, service, metav1.CreateOptions{})
	} else {
		_, err = services.Update(ctx, service, metav1.UpdateOptions{})
	}
	return count(result, err)
}

// ensureSecret also says from where agents are told to take gossip; empty where that is not known.
func (p *Provisioner) ensureSecret(
	ctx context.Context, cluster *v1alpha1.DatabaseCluster, pods kube.Networks, mounted []string, result *Result,
) (gossip string, err error) {
	authority := p.opts.Authority()
	if authority.IsZero() {
		return "", errors.New("no certificate authority yet")
	}
	secrets := p.opts.Client.CoreV1().Secrets(cluster.Namespace)
	present, err := secrets.Get(ctx, v1alpha1.DerivedName(cluster.Name), metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return "", err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DerivedName(cluster.Name), Namespace: cluster.Namespace},
		Type:       corev1.SecretTypeOpaque,
	}
	if !missing {
		if present.Labels[pki.LabelPartOf] != pki.PartOf {
			return "", pki.ErrForeign
		}
		secret = present.DeepCopy()
	}
	file := presentFile(secret.Data)
	ca, partly := p.databaseCA(ctx, cluster, file)
	client, clientErr := p.databaseClient(ctx, cluster, secret.Data, file)
	allowed, consentErr := p.consents(ctx, cluster, mounted, file)
	copied, copyErr := p.copyCredentials(ctx, cluster, mounted, allowed, secret.Data, file)
	partly = errors.Join(partly, clientErr, consentErr, copyErr)
	from := gossipFrom(p.opts.GossipCIDRs, pods, file.PodNetworks)
	data, changed, err := secretData(secret.Data, cluster, secretInput{
		authority:     authority,
		gossip:        from,
		stopHookCIDRs: p.opts.StopHookCIDRs,
		ca:            ca,
		client:        client,
		copied:        copied,
		allowed:       allowed,
		key:           p.opts.key,
		now:           p.opts.now(),
	})
	if err != nil {
		return "", errors.Join(err, partly)
	}
	if pair, err := pki.ParsePair(data[config.KeyCert], data[config.KeyKey]); err == nil {
		result.Next = pair.RenewAt()
	}
	if soon := p.opts.now().Add(copyEvery); copied.from != "" && soon.Before(result.Next) {
		result.Next = soon
	}
	secret.Data = data
	if !own(&secret.ObjectMeta, cluster) && !changed {
		return from.why, partly
	}
	if missing {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return from.why, errors.Join(count(result, err), partly)
}

// count notes a write. It is no error if somebody else created the object first: it was one of us,
// or the next call says what is wrong with it.
func count(result *Result, err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		result.Writes++
	}
	return err
}
