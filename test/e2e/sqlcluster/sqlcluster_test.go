package sqlcluster

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

func TestEdits(t *testing.T) {
	set := &appsv1.StatefulSet{}
	set.Name = MySQL.Name
	set.Spec.Template.Labels = map[string]string{"app": "mysql"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "mysql", Image: "x:1"}, {Name: "other", Image: "y:1"}}
	Labelled(set)
	require.Equal(t, "mysql", set.Labels[manifests.ClusterLabel])
	require.Equal(t, "mysql", set.Spec.Template.Labels[manifests.ClusterLabel])
	AtRest(set)
	require.Equal(t, model.FirstOrdinalNone, *set.Spec.UpdateStrategy.RollingUpdate.Partition)
	OnDelete(set)
	require.Nil(t, set.Spec.UpdateStrategy.RollingUpdate)
	MySQL.Tagged(NewTag)(set)
	require.Equal(t, "docker.io/rollcall-test/mysql:2", set.Spec.Template.Spec.Containers[0].Image)
	require.Equal(t, "y:1", set.Spec.Template.Spec.Containers[1].Image)
}

func TestManifestsHaveTheTestsAccounts(t *testing.T) {
	for _, f := range Flavors {
		text, err := os.ReadFile("../manifests/" + f.Name + ".yaml")
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), lastGrant), f.Name)
		require.Contains(t, string(text), "name: "+f.Name+"\n")
		require.Contains(t, string(text), "mountPath: "+Mount+"}")
		require.Contains(t, string(text), "--datadir="+Data+"\n")
	}
	require.Contains(t, MariaDB.accounts(), "GRANT SLAVE MONITOR ON *.* TO 'witness'@'%';")
}

func TestTransactionsOfOneServer(t *testing.T) {
	require.Equal(t, []string{"aa:1", "aa:2", "aa:5"}, gtids("bb:1-9,\naa:1-2:5", "AA"))
	require.Empty(t, gtids("", "aa"))
}

func TestJudge(t *testing.T) {
	good := func() Outcome { return Outcome{Primaries: witness.Primaries{Turns: []string{"a", "b"}}} }
	require.NoError(t, good().Judge(1))
	for want, spoil := range map[string]func(*Outcome){
		"two servers could be written to": func(o *Outcome) { o.Primaries.Two = []string{"a and b"} },
		"2 switchovers, want 1":           func(o *Outcome) { o.Primaries.Turns = []string{"a", "b", "a"} },
		"1 acknowledged rows are lost":    func(o *Outcome) { o.Outcome = rehearsal.Outcome{Lost: map[string]int{load.Table: 1}} },
		"rows are not on every server":    func(o *Outcome) { o.Differ = []string{"1 is not on a"} },
	} {
		o := good()
		spoil(&o)
		require.ErrorContains(t, o.Judge(1), want)
	}
}

func TestOpenServersAreFollowed(t *testing.T) {
	c := &Cluster{Flavor: MariaDB}
	require.Contains(t, c.followFirst()[1], "MASTER_HOST='mariadb-0.mariadb.demo'")
	c.Flavor = MySQL
	require.Contains(t, c.followFirst()[1], "SOURCE_HOST='mysql-0.mysql.demo'")
	require.Equal(t, 20*time.Second, Admin.Answer)
}
