package pki

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// Secrets of the installation's namespace.
const (
	// SecretAuthority has the authority's key. Coordinators alone may read it.
	SecretAuthority = "rollcall-ca"
	// SecretWebhook has the key of the authority that signs the webhook's certificates
	// and nothing else. Coordinators alone may read it.
	SecretWebhook = "rollcall-webhook-ca"
	// SecretReader has a client's certificate for people and the command line:
	// it may read everything and order nothing.
	SecretReader = "rollcall-reader"
	// SecretTrust has the authorities' certificates and no key: with it people verify
	// whom they show who they are.
	SecretTrust = "rollcall-trust"
)

// LabelPartOf marks objects that Rollcall made.
const (
	LabelPartOf = "app.kubernetes.io/part-of"
	PartOf      = "rollcall"
)

// Annotations of the authority's Secret. A person asks for a rotation by a new
// value of AnnotationRotate, and coordinators answer with the other two.
const (
	AnnotationRotate = "rollcall.dev/rotate"
	// AnnotationRotated is the last value that a rotation was begun for.
	AnnotationRotated = "rollcall.dev/rotated"
	// AnnotationRotation is how far it is, for people.
	AnnotationRotation = "rollcall.dev/rotation"
)

// ErrForeign is for an object of one of our names that we did not make.
var ErrForeign = errors.New("an object of this name exists already and was not made by Rollcall (it lacks the label " + LabelPartOf + "=" + PartOf + ")")

// Store keeps an authority and the readers' certificate in Secrets.
type Store struct {
	client    kubernetes.Interface
	namespace string
	name      string
}

// NewStore keeps the authority in a Secret of this name, in the namespace of the installation.
func NewStore(client kubernetes.Interface, namespace, name string) *Store {
	return &Store{client: client, namespace: namespace, name: name}
}

// Authority reads the authority and makes it if there is none. Any number of
// coordinators may call it at once and get the same one.
func (s *Store) Authority(ctx context.Context, now time.Time) (Authority, error) {
	secret, err := s.get(ctx, s.name)
	if apierrors.IsNotFound(err) {
		fresh, newErr := NewAuthority(s.name, now)
		if newErr != nil {
			return Authority{}, newErr
		}
		secret, err = s.create(ctx, s.secret(s.name, fresh.Encode()))
		if apierrors.IsAlreadyExists(err) {
			// Another coordinator was first; its authority is the one.
			secret, err = s.get(ctx, s.name)
		}
	}
	if err != nil {
		return Authority{}, fmt.Errorf("secret %s/%s: %w", s.namespace, s.name, err)
	}
	return s.decode(secret)
}

func (s *Store) decode(secret *corev1.Secret) (Authority, error) {
	authority, err := DecodeAuthority(secret.Data)
	if err != nil {
		return Authority{}, fmt.Errorf("secret %s/%s: %w (delete it to have a new authority made; all certificates are then issued again)",
			s.namespace, s.name, err)
	}
	return authority, nil
}

// Advance brings the stored authority to what it should be now. A lost race
// with another coordinator is no error: its result is returned.
func (s *Store) Advance(ctx context.Context, now time.Time) (Authority, error) {
	secret, err := s.get(ctx, s.name)
	if apierrors.IsNotFound(err) {
		return s.Authority(ctx, now)
	}
	if err != nil {
		return Authority{}, fmt.Errorf("secret %s/%s: %w", s.namespace, s.name, err)
	}
	present, err := s.decode(secret)
	if err != nil {
		return Authority{}, err
	}
	next, changed, err := present.Advance(now)
	if err != nil {
		return present, err
	}
	asked := secret.Annotations[AnnotationRotate]
	if asked != "" && asked != secret.Annotations[AnnotationRotated] {
		if next, err = next.Rotate(now); err != nil {
			return present, err
		}
		changed = true
	}
	if !changed {
		return present, nil
	}
	update := secret.DeepCopy()
	update.Data = next.Encode()
	annotate(update, asked, next.Rotation())
	_, err = s.client.CoreV1().Secrets(s.namespace).Update(ctx, update, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return s.Authority(ctx, now)
	}
	if err != nil {
		return Authority{}, fmt.Errorf("secret %s/%s: %w", s.namespace, s.name, err)
	}
	return next, nil
}

// Watch tells of each change of the authority's Secret, and first of the Secret as it is.
func (s *Store) Watch(ctx context.Context) (watch.Interface, error) {
	return s.client.CoreV1().Secrets(s.namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, s.name).String(), TimeoutSeconds: new(int64(300)),
	})
}

// annotate says on the Secret what was made of a person's wish.
func annotate(secret *corev1.Secret, asked, rotation string) {
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	if asked != "" {
		secret.Annotations[AnnotationRotated] = asked
		if rotation == "" {
			rotation = "done"
		}
	}
	if rotation == "" {
		delete(secret.Annotations, AnnotationRotation)
		return
	}
	secret.Annotations[AnnotationRotation] = rotation
}

// Reader keeps the Secret with the readers' certificate current.
func (s *Store) Reader(ctx context.Context, authority Authority, now time.Time) error {
	return s.keep(ctx, SecretReader, func(data map[string][]byte) (map[string][]byte, bool, error) {
		return Renew(data, authority, ClientProfile(config.RoleReader), now)
	})
}

// Trust keeps the Secret with the authorities' certificates current. It never
// has anything else in it.
func (s *Store) Trust(ctx context.Context, authority Authority) error {
	return s.keep(ctx, SecretTrust, func(data map[string][]byte) (map[string][]byte, bool, error) {
		bundle := authority.Bundle()
		changed := len(data) != 1 || string(data[config.KeyCA]) != string(bundle)
		return map[string][]byte{config.KeyCA: bundle}, changed, nil
	})
}

// keep makes a Secret what renew says that it should be.
func (s *Store) keep(ctx context.Context, name string, renew func(map[string][]byte) (map[string][]byte, bool, error)) error {
	present, err := s.get(ctx, name)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("secret %s/%s: %w", s.namespace, name, err)
	}
	var data map[string][]byte
	if !missing {
		if present.Labels[LabelPartOf] != PartOf {
			return fmt.Errorf("secret %s/%s: %w", s.namespace, name, ErrForeign)
		}
		data = present.Data
	}
	renewed, changed, err := renew(data)
	if err != nil || !changed {
		return err
	}
	if missing {
		_, err = s.create(ctx, s.secret(name, renewed))
	} else {
		present = present.DeepCopy()
		present.Data = renewed
		_, err = s.client.CoreV1().Secrets(s.namespace).Update(ctx, present, metav1.UpdateOptions{})
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return nil // another coordinator did the same
	}
	if err != nil {
		return fmt.Errorf("secret %s/%s: %w", s.namespace, name, err)
	}
	return nil
}

// Renew is the data of a Secret with a certificate of the profile and the
// bundle of the authority in it, and whether that differs from data. Other
// keys stay as they are; data itself is not changed.
func Renew(data map[string][]byte, authority Authority, profile Profile, now time.Time) (map[string][]byte, bool, error) {
	out := maps.Clone(data)
	if out == nil {
		out = map[string][]byte{}
	}
	changed := false
	pair, err := ParsePair(data[config.KeyCert], data[config.KeyKey])
	if err != nil || authority.Due(pair, profile, now) {
		if pair, err = authority.Issue(profile, now); err != nil {
			return nil, false, err
		}
		out[config.KeyCert], out[config.KeyKey] = pair.CertPEM(), pair.KeyPEM()
		changed = true
	}
	if bundle := authority.Bundle(); string(bundle) != string(data[config.KeyCA]) {
		out[config.KeyCA] = bundle
		changed = true
	}
	return out, changed, nil
}

func (s *Store) secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: s.namespace,
			Labels:    map[string]string{LabelPartOf: PartOf},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
}

func (s *Store) get(ctx context.Context, name string) (*corev1.Secret, error) {
	return s.client.CoreV1().Secrets(s.namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s *Store) create(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	return s.client.CoreV1().Secrets(s.namespace).Create(ctx, secret, metav1.CreateOptions{})
}
