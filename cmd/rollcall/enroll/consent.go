package enroll

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
)

// given returns the Secrets to which the user of this command consents: those that it names, and all
// that it writes into a new DatabaseCluster, with the default one for credentials.
func (p *Plan) given(o Options) (names []string) {
	credentials := o.CredentialsSecret
	if credentials == "" && !p.Exists {
		credentials = v1alpha1.CredentialsSecretOf(&p.Cluster)
	}
	for _, name := range []string{credentials, o.Connection.CASecret, o.Connection.ClientSecret} {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Consent adds steps that allow this DatabaseCluster to use the Secrets that the user names, which have
// been read, and adds that to the facts. If somebody else's DatabaseCluster names a Secret, this
// command is not consent: the doctor says what is missing.
func (p *Plan) Consent(f *doctor.Facts) {
	for _, name := range p.gives {
		secret := f.SecretMetas[p.Namespace+"/"+name]
		if secret == nil || consent.Own(secret) || consent.Given(secret, p.Name) {
			continue
		}
		value, fits := consent.Label(secret, p.Name)
		if !fits {
			continue
		}
		step := Step{
			Secret: name, UID: secret.UID, ResourceVersion: secret.ResourceVersion,
			Patch:   fmt.Sprintf(`{"metadata":{"labels":{"%s":"%s"}}}`, v1alpha1.LabelCluster, value),
			Said:    fmt.Sprintf("secret/%s labelled %s=%s: agents of %s may use it", name, v1alpha1.LabelCluster, value, p.Name),
			Command: consent.LabelCommand(secret, p.Name),
		}
		last := len(p.Steps)
		if !p.Exists {
			last-- // the DatabaseCluster
		}
		p.Steps = slices.Insert(p.Steps, last, step)
		given := secret.DeepCopy()
		metav1.SetMetaDataLabel(given, v1alpha1.LabelCluster, value)
		f.SecretMetas[p.Namespace+"/"+name] = given
	}
}
