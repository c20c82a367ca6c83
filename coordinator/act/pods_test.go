package act

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// An API server says in three ways that the pod that was meant is not there, or
// not as it was.
func TestJudge(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	invalid := func(name string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", field.ErrorList{field.Invalid(field.NewPath("metadata", name), "u", "field is immutable")})
	}
	p := &Pods{}
	require.ErrorIs(t, p.judge("patch", "x", apierrors.NewNotFound(pods, "x")), effect.ErrGone)
	require.ErrorIs(t, p.judge("patch", "x", invalid("uid")), effect.ErrGone)
	require.ErrorIs(t, p.judge("patch", "x", apierrors.NewConflict(pods, "x", errors.New("changed"))), effect.ErrConflict)
	for _, err := range []error{invalid("labels"), apierrors.NewInternalError(errors.New("etcd")), errors.New("no route")} {
		got := p.judge("patch", "x", err)
		require.ErrorIs(t, got, err)
		require.NotErrorIs(t, got, effect.ErrGone)
		require.NotErrorIs(t, got, effect.ErrConflict)
	}
}
