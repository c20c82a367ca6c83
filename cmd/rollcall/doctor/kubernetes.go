package doctor

import (
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// oldest is the oldest Kubernetes with the admission policies and sidecars that Rollcall needs.
const oldest = "1.30.0"

func kubernetesVersion(f *Facts) []Finding {
	if !f.olderThan(oldest) {
		return nil
	}
	return []Finding{{Severity: Error, Object: "Kubernetes", Found: "it is " + f.Live.Version + ": sidecars and admission policies as Rollcall uses them are there from 1.30 on",
		Fix: "upgrade Kubernetes first"}}
}

// olderThan reports whether Kubernetes is known to be older than a version.
func (f *Facts) olderThan(than string) bool {
	if f.Live == nil {
		return false
	}
	v, err := version.ParseGeneric(f.Live.Version)
	return err == nil && v.LessThan(version.MustParseGeneric(than))
}

// controllers checks that Kubernetes' own controllers have the names by which the guard lets them
// through.
func controllers(f *Facts) []Finding {
	if f.Live == nil || f.Live.ControllersHaveAccounts {
		return nil
	}
	var enforced []string
	for i := range f.Clusters {
		if c := &f.Clusters[i]; c.Spec.WithDefaults().Guard == model.GuardEnforce {
			enforced = append(enforced, id(c.Namespace, c.Name))
		}
	}
	severity, found := Warning, "the controllers of Kubernetes act under one name (kube-controller-manager without --use-service-account-credentials), so that nothing can be guarded"
	if len(enforced) > 0 {
		severity = Error
		found += "; spec.guard is Enforce for " + enforced[0]
	}
	return []Finding{{Severity: severity, Object: "Kubernetes", Found: found,
		Fix: "start kube-controller-manager with --use-service-account-credentials=true, or set spec.guard: \"Off\" (with the quotes) and updateStrategy: OnDelete"}}
}
