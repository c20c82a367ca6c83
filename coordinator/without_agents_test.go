package coordinator

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/engines"
)

func TestAddressIsThatOfTheVeryPod(t *testing.T) {
	objects := kube.ClusterObjects{Pods: []kube.Pod{{Name: "s-0", UID: "old", IP: "10.0.0.1"}, {Name: "s-1", UID: "b", IP: "10.0.0.2"}}}
	require.Equal(t, "10.0.0.2", addressOf(objects, "b"))
	require.Empty(t, addressOf(objects, "new"))
}

// shownOnce is a cache that shows one cluster.
type shownOnce struct {
	Cache
	objects kube.ClusterObjects
}

func (c shownOnce) Cluster(Key) (kube.ClusterObjects, bool) { return c.objects, true }

// plain is a database without a setting of all of it, a settingChanger one that has it.
type plain struct{ engines.Engine }

func (plain) Close() error { return nil }

type settingChanger struct {
	plain
	restored *engines.Setting
}

func (s settingChanger) PlanSetting(context.Context, engines.Order) (engines.Setting, error) {
	return *s.restored, nil
}

func (s settingChanger) RestoreSetting(_ context.Context, shared engines.Setting, _ time.Time) (engines.Progress, error) {
	*s.restored = shared
	return engines.Progress{State: engines.ProgressDone}, nil
}

// A setting is put back through the database that is reached at the pod's own address.
func TestSettingIsRestoredWithoutAgents(t *testing.T) {
	var restored engines.Setting
	objects := kube.ClusterObjects{Cluster: &v1alpha1.DatabaseCluster{}, Pods: []kube.Pod{{Name: "s-0", UID: "a", IP: "10.0.0.1"}, {Name: "s-1", UID: "b"}}}
	shared := effect.ClusterSetting{Name: "allocation", Undo: []byte("all")}
	reached := map[string]error{}
	restore := func(uid string, engine engines.Engine, err error) (bool, error) {
		o := orders{cache: shownOnce{objects: objects}, reach: func(_ context.Context, _ model.Spec, ip string) (engines.Engine, error) {
			reached[ip] = err
			return engine, err
		}}
		return o.RestoreSettingWithoutAgents(t.Context(), effect.Target{Pod: "s", UID: uid}, shared, time.Time{})
	}

	done, err := restore("a", settingChanger{restored: &restored}, nil)
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, engines.Setting{Name: shared.Name, Undo: shared.Undo}, restored)
	require.Equal(t, map[string]error{"10.0.0.1": nil}, reached)

	_, err = restore("a", nil, errNoHandoffWithoutAgents)
	require.ErrorIs(t, err, errNoRestoreWithoutAgents)
	_, err = restore("a", plain{}, nil)
	require.ErrorContains(t, err, "has no setting")
	_, err = restore("b", plain{}, nil)
	require.ErrorContains(t, err, "has no address")
}
