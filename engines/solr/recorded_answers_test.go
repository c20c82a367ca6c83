package solr

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

// TestRecorded serves what real servers answered and looks at what the adapter
// makes of it.
func TestRecorded(t *testing.T) {
	all := recordings(t, "")
	require.NotEmpty(t, all)
	for _, r := range all {
		check, known := recordedChecks[r.name]
		if own := versionChecks[r.version][r.name]; own != nil {
			check = own
		}
		t.Run(r.version+"/"+r.name, func(t *testing.T) {
			require.True(t, known, "no check for this recording")
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(r.status)
				_, _ = w.Write([]byte(r.body))
			}))
			defer server.Close()
			host, port := webtest.Address(t, server.URL)
			require.NoError(t, check(t, r, mustNew(t, Options{Access: web.Access{Host: host, Port: port, Timeout: time.Minute, WriteTimeout: time.Minute}}).api))
		})
	}
	for name := range recordedChecks {
		for _, version := range recordedVersions {
			found := false
			for _, r := range all {
				found = found || r.name == name && r.version == version
			}
			require.True(t, found, "no recording of %s for %s", name, version)
		}
	}
}

type recordedCheck func(t *testing.T, r recording, a *api) error

var recordedChecks = map[string]recordedCheck{
	"system": func(t *testing.T, r recording, a *api) error {
		id, err := a.identity(t.Context())
		require.Equal(t, r.version, id.version)
		require.True(t, strings.HasSuffix(id.node, "_solr"), id.node)
		return err
	},
	"health-ok":           health(nodeHealth{connected: true, settled: true}),
	"health-recovering":   health(nodeHealth{connected: true, unhealthy: 3, reason: "3 cores are not healthy"}),
	"health-no-zookeeper": health(nodeHealth{reason: "Host Unavailable: Not connected to zk"}),
	"metrics": func(t *testing.T, r recording, a *api) error {
		n, err := a.dataBytes(t.Context(), r.version)
		require.EqualValues(t, 3*69, n)
		return err
	},
	"overseer-status": func(t *testing.T, _ recording, a *api) error {
		o, err := a.overseer(t.Context())
		require.True(t, strings.HasSuffix(o.node, "_solr"), o.node)
		require.False(t, o.working, "nothing but the question")
		return err
	},

	"cluster-status-empty":            status(3, 0, engines.VerdictGreen, ""),
	"cluster-status-green":            status(3, 9, engines.VerdictGreen, ""),
	"cluster-status-preferred":        status(3, 3, engines.VerdictGreen, ""),
	"cluster-status-moving":           status(3, 11, engines.VerdictGreen, ""),
	"cluster-status-moved":            status(3, 11, engines.VerdictYellow, "no leader"), // for a moment
	"cluster-status-split":            status(3, 6, engines.VerdictRecoverable, "missing or recovering: moved/shard1_"),
	"cluster-status-killed-unnoticed": status(3, 15, engines.VerdictUnknown, "any"),
	"cluster-status-killed":           status(2, 15, engines.VerdictRecoverable, "missing or recovering: books/"),
	"cluster-status-recovering":       status(3, 15, engines.VerdictRecoverable, "down on a live node, which a restart may mend if it lasts: books/"),
	"cluster-status-stopped":          status(2, 15, engines.VerdictRed, "no active copy of "),
	"cluster-status-secured":          status(2, 0, engines.VerdictGreen, ""),
	"cluster-status-no-collection":    fails("solr answered 400 Bad Request: Collection: none not found"),
	"cluster-error-no-zookeeper":      fails("solr answered 500 Internal Server Error: KeeperErrorCode = ConnectionLoss for /live_nodes"),

	"task-notfound":  task(taskAbsent),
	"task-running":   task(taskRunning),
	"task-completed": task(taskCompleted),
	"task-balanced":  task(taskCompleted),
	"task-failed":    task(taskCompleted), // sic
	"task-forgotten": accepted, "task-forgotten-unknown": accepted,
	"replace-node": accepted, "replace-node-failed-submit": accepted, "balance": accepted, "commit": accepted,
	"replace-node-again": fails("solr answered 400 Bad Request: Task with the same requestid already exists. (task-1)"),
	"rebalance-leaders":  accepted, "rebalance-leaders-again": accepted,
	"property-ADDREPLICAPROP-rollcall": accepted, "property-ADDREPLICAPROP-preferredLeader": accepted,
	"property-DELETEREPLICAPROP-rollcall": accepted, "property-DELETEREPLICAPROP-preferredLeader": accepted,
	"property-of-no-replica": accepted, // so only the state tells that it is there

	"denied-anonymous":        refused("solr answered 401 Unauthorized: Error 401 require authentication"),
	"denied-anonymous-system": refused("solr answered 401 Unauthorized: Error 401 require authentication"),
	"denied-wrong-password":   refused("solr answered 401 Unauthorized: Error 401 Bad credentials"),
	"denied-role":             refused("solr answered 403 Forbidden: Error 403 Unauthorized request, Response code: 403"),
}

// versionChecks are for what one version says in another way, or was recorded a moment earlier or later.
var versionChecks = map[string]map[string]recordedCheck{
	"8.11.4": {
		"balance":                    fails("solr answered 404 Not Found: no core retrieved for null"),
		"cluster-error-no-zookeeper": fails("solr answered 500 Internal Server Error: KeeperErrorCode = ConnectionLoss for /roles.json"),
		"cluster-status-recovering":  status(3, 15, engines.VerdictRecoverable, "missing or recovering: moved/"),
		"cluster-status-stopped":     status(2, 15, engines.VerdictYellow, "no leader of "),
		"health-recovering":          health(nodeHealth{connected: true, unhealthy: 2, reason: "2 cores are not healthy"}),
		"replace-node-again":         fails("solr answered 400 Bad Request: Task with the same requestid already exists."),
		"task-balanced":              task(taskAbsent),
		"task-failed":                task(taskFailed),
	},
	"9.10.1": {
		"cluster-status-moved": status(3, 11, engines.VerdictGreen, ""),
		"cluster-status-split": status(3, 6, engines.VerdictRecoverable, "down on a live node, which a restart may mend if it lasts: moved/"),
		"health-recovering":    health(nodeHealth{connected: true, unhealthy: 2, reason: "2 cores are not healthy"}),
	},
	"10.0.0": {
		"cluster-status-killed":  status(2, 15, engines.VerdictYellow, "no leader of "),
		"cluster-status-moved":   status(3, 11, engines.VerdictGreen, ""),
		"cluster-status-split":   status(3, 6, engines.VerdictRecoverable, "down on a live node, which a restart may mend if it lasts: moved/"),
		"cluster-status-stopped": status(2, 15, engines.VerdictYellow, "no leader of "),
		"health-recovering":      health(nodeHealth{connected: true, unhealthy: 1, reason: "1 cores are not healthy"}),
	},
}

func health(want nodeHealth) recordedCheck {
	return func(t *testing.T, _ recording, a *api) error {
		got, err := a.health(t.Context())
		require.Equal(t, want, got)
		return err
	}
}

// status: how many live nodes and replicas, and the verdict. "any": it depends on
// the moment of the recording.
func status(live, replicas int, want engines.Verdict, reason string) recordedCheck {
	return func(t *testing.T, _ recording, a *api) error {
		c, err := a.clusterStatus(t.Context(), "")
		require.NoError(t, err)
		require.Len(t, c.live, live)
		n := 0
		for range c.replicas() {
			n++
		}
		require.Equal(t, replicas, n)
		got := verdict(c.groups(), c.isLive)
		if reason != "any" {
			require.Equal(t, want, got.Verdict, got.Reason)
			require.True(t, strings.HasPrefix(got.Reason, reason), got.Reason)
		}
		return nil
	}
}

func task(want taskState) recordedCheck {
	return func(t *testing.T, _ recording, a *api) error {
		got, _, err := a.task(t.Context(), "task")
		require.Equal(t, want, got)
		return err
	}
}

func accepted(t *testing.T, _ recording, a *api) error {
	return a.collectionsChange(t.Context(), web.Query("action", "ANY"))
}

func fails(with string) recordedCheck {
	return func(t *testing.T, _ recording, a *api) error {
		_, err := a.clusterStatus(t.Context(), "")
		require.ErrorContains(t, err, with)
		require.False(t, denied(err))
		return nil
	}
}

func refused(with string) recordedCheck {
	return func(t *testing.T, _ recording, a *api) error {
		_, err := a.clusterStatus(t.Context(), "")
		said, _, _ := strings.Cut(err.Error(), "; ")
		require.Equal(t, fmt.Sprintf("%s CLUSTERSTATUS: %s", pathCollections, with), said)
		require.True(t, denied(err))
		return nil
	}
}
