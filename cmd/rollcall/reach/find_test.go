package reach

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHolderOf(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	held := func(holder string, ago time.Duration) *coordinationv1.Lease {
		seconds, renewed := int32(15), metav1.NewMicroTime(now.Add(-ago))
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed}}
	}
	require.Equal(t, "a", holderOf(held("a", time.Second), now))
	require.Equal(t, "a", holderOf(held("a", 30*time.Second), now), "clocks differ")
	require.Equal(t, "a", holderOf(held("a", -time.Hour), now))
	require.Empty(t, holderOf(held("a", 2*time.Minute), now), "long given up")
	require.Empty(t, holderOf(held("", time.Second), now), "given back")
	require.Empty(t, holderOf(&coordinationv1.Lease{}, now))
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{CA: "x"}, "for a coordinator at --coordinator"},
		{Options{Address: "a:1", Cert: "x"}, "--cert and --key belong together"},
		{Options{Address: "a:1", Cert: "x", Key: "y"}, "--cert needs --ca"},
		{Options{Address: "a"}, "is not host:port"},
	} {
		require.ErrorContains(t, c.opts.Validate(), c.want)
	}
	require.NoError(t, Options{}.Validate())
	require.NoError(t, Options{Address: "[::1]:7950", CA: "x", Cert: "y", Key: "z"}.Validate())
}
