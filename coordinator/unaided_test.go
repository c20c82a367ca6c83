package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

func TestAddressIsThatOfTheVeryPod(t *testing.T) {
	objects := kube.ClusterObjects{Pods: []kube.Pod{{Name: "s-0", UID: "old", IP: "10.0.0.1"}, {Name: "s-1", UID: "b", IP: "10.0.0.2"}}}
	require.Equal(t, "10.0.0.2", addressOf(objects, "b"))
	require.Empty(t, addressOf(objects, "new"))
}
