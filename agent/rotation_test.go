package agent

import (
	"bytes"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Certificates, authorities, keys and the cluster itself change under a running
// agent.
func TestRotation(t *testing.T) {
	r := three(t)
	m := r.members[0]
	old := m.connection(config.RoleReader)
	r.authority = agenttest.NewAuthority(t)
	key := bytes.Repeat([]byte{3}, 32)
	for _, member := range r.members {
		r.authority.Mount(member.dir, testNamespace, testCluster, r.file, append(bytes.Clone(key), bytes.Repeat([]byte{4}, 32)...))
	}
	for _, member := range r.members {
		member.clients = map[string]*grpc.ClientConn{}
	}
	eventually(t, "the new authority counts", func() bool {
		_, err := m.as(config.RoleReader).GetReport(t.Context(), &rollcallv1.GetReportRequest{})
		return err == nil
	})
	_, err := rollcallv1.NewAgentServiceClient(old).GetReport(t.Context(), &rollcallv1.GetReportRequest{})
	require.Error(t, err, "a connection that was made before does not go on")
	_ = old.Close()
	roster := m.roster()
	require.Len(t, roster.Entries, 3)

	// The old gossip key is not listed any more; who comes now has never had it.
	key = bytes.Repeat([]byte{4}, 32)
	late := r.start(2, func(o *Options) {
		o.Identity.Pod, o.Identity.PodUID = "search-3", "uid-3"
		o.GossipPort = gossipPort(t)
	})
	for _, member := range r.members {
		r.authority.Mount(member.dir, testNamespace, testCluster, r.file, key)
	}
	r.run(late)
	for _, member := range r.members {
		eventually(t, "all see the one with the new key", func() bool {
			return member.entry("search-3").Liveness == rollcallv1.Liveness_LIVENESS_ALIVE && len(member.roster().Entries) == 4
		})
	}

	// Broken files change nothing but the readiness.
	broken := r.file
	broken.ClusterUID = ""
	r.authority.Mount(m.dir, testNamespace, testCluster, broken, key)
	eventually(t, "readiness says why", func() bool {
		code, body := m.get("/readyz", nil)
		return code == http.StatusServiceUnavailable && bytes.Contains([]byte(body), []byte("clusterUID is empty"))
	})
	require.Equal(t, rollcallv1.Membership_MEMBERSHIP_LIVE, m.report(true).Member)

	// Another cluster is another gossip and another fence.
	other := r.file
	other.ClusterUID = "reborn"
	r.authority.Mount(m.dir, testNamespace, testCluster, other, key)
	eventually(t, "alone in the new cluster", func() bool {
		roster := m.roster()
		return len(roster.Entries) == 1 && roster.Identity.ClusterUid == "reborn"
	})
	eventually(t, "the former peers see that it is gone", func() bool { // its good-bye may be lost
		return r.members[1].entry(m.pod).Liveness != rollcallv1.Liveness_LIVENESS_ALIVE
	})
}

// The Secret may come long after the pod: the agent waits and says so.
func TestWaitsForItsConfiguration(t *testing.T) {
	r := three(t)
	late := r.start(2, func(o *Options) {
		o.ConfigDir = t.TempDir()
		o.Identity.Pod, o.Identity.PodUID = "search-3", "uid-3"
		o.GossipPort = gossipPort(t)
	})
	r.members = r.members[:3]
	r.run(late)
	eventually(t, "it says what is missing", func() bool {
		code, body := late.get("/readyz", nil)
		return code == http.StatusServiceUnavailable && bytes.Contains([]byte(body), []byte("configuration incomplete"))
	})
	code, body := late.get(config.StopPath, http.Header{config.StopHeader: {"secret"}})
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "nothing done")

	// Networks without its own address are no reason to do without the rest.
	elsewhere := r.file
	elsewhere.GossipCIDRs = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	r.authority.Mount(late.agent.options.ConfigDir, testNamespace, testCluster, elsewhere, bytes.Repeat([]byte{3}, 32))
	require.Equal(t, rollcallv1.Membership_MEMBERSHIP_LIVE, late.report(true).Member)

	r.authority.Mount(late.agent.options.ConfigDir, testNamespace, testCluster, r.file, bytes.Repeat([]byte{3}, 32))
	require.Equal(t, rollcallv1.Membership_MEMBERSHIP_LIVE, late.report(true).Member)
}
