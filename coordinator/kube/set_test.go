package kube

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestSetOf(t *testing.T) {
	for pod, set := range map[string]string{"db-0": "db", "my-db-12": "my-db", "db": "", "": "", "-1": ""} {
		require.Equal(t, set, model.SetOf(pod), pod)
	}
	pools := []Pool{{Name: "db"}, {Name: "my-db"}}
	require.True(t, HasSetOf(pools, "my-db-3"))
	require.False(t, HasSetOf(pools, "my-3"))
	require.False(t, HasSetOf(nil, "db-0"))
}
