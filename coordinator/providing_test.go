package coordinator

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// What is not allowed is said in a condition, with the command that allows it, and holds
// nothing up by itself; it is looked at again soon.
func TestWithheldIsACondition(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var answer atomic.Pointer[error]
		var calls atomic.Int64
		says := func(err error) { answer.Store(&err) }
		says(nil)
		w.provision = func(Key) error { calls.Add(1); return *answer.Load() }
		db := w.add("search", 3)
		p := w.start()
		defer func() { p.end() }()
		withheld := func() v1alpha1.Condition { return conditionOf(db.status(), v1alpha1.ConditionWithheld) }
		time.Sleep(20 * time.Second)
		require.Empty(t, withheld(), "it is not there until there is something to say")

		refuse := func(name string) {
			says(fmt.Errorf("secret: %w", consent.Refusal("kubectl label secret")))
			db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Connection.CredentialsSecret = name })
			time.Sleep(10 * time.Second)
		}
		refuse("others")
		require.Equal(t, metav1.ConditionTrue, withheld().Status)
		says(nil)
		time.Sleep(consentRetry)
		require.Equal(t, metav1.ConditionFalse, withheld().Status, "it is looked at again soon")
		refuse("accounts")
		require.Equal(t, metav1.ConditionTrue, withheld().Status)
		require.Equal(t, "NotAllowed", withheld().Reason)
		require.Equal(t, "kubectl label secret", withheld().Message)
		require.Equal(t, model.ClusterDone, db.status().Phase)

		// A failure is no answer, neither for this coordinator nor for the next one.
		says(errors.New("busy"))
		p.end()
		p = w.start()
		time.Sleep(time.Minute)
		require.Equal(t, metav1.ConditionTrue, withheld().Status)

		says(nil)
		time.Sleep(time.Minute)
		require.Equal(t, metav1.ConditionFalse, withheld().Status)
		before := calls.Load()
		time.Sleep(5 * time.Minute)
		require.Equal(t, before, calls.Load())
	})
}

func TestMountedSecrets(t *testing.T) {
	pods := []kube.Pod{{Credentials: "b"}, {}, {Credentials: "a"}, {Credentials: "b"}}
	require.Equal(t, []string{"a", "b"}, MountedSecrets(kube.ClusterObjects{Pods: pods}), "a pod without an agent needs none")
	pods[1].Agent = true
	require.Equal(t, []string{"", "a", "b"}, MountedSecrets(kube.ClusterObjects{Pods: pods}))
}
