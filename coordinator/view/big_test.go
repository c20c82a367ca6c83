package view

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// What is written down can be read again, and every snapshot makes sense to the policy.
// big is a cluster of n pods, each hosting ten copies of shards of three.
func big(n int) Input {
	in := made()
	in.Kube.Pools[0].Replicas = n
	in.Kube.Pods, in.Agents.Reports = nil, map[string]agents.Received{}
	nodes := make([]*rollcallv1.MemberNode, n)
	for i := range nodes {
		nodes[i] = &rollcallv1.MemberNode{Name: nodeName(podName(i)), Address: address(podName(i)), Member: live}
	}
	groups := make([][]*rollcallv1.Group, n)
	for g := range n * 10 / 3 {
		for k := range 3 {
			at := (g*3 + k) % n
			group := &rollcallv1.Group{Id: fmt.Sprintf("books/s%d", g), Kind: rollcallv1.GroupKind_GROUP_KIND_SHARD, NeedsLeader: true}
			for j := range 3 {
				group.Members = append(group.Members, &rollcallv1.Member{
					Id: fmt.Sprintf("core%d", j), Node: nodeName(podName((g*3 + j) % n)), State: active, Leader: j == 0, Eligible: true,
				})
			}
			groups[at] = append(groups[at], group)
		}
	}
	for i := range n {
		uid := types.UID(fmt.Sprintf("u%d", i))
		in.Kube.Pods = append(in.Kube.Pods, kube.Pod{
			Namespace: "prod", Name: podName(i), UID: uid, Pool: "search", Ordinal: i, Node: fmt.Sprintf("node%d", i%3),
			IP: fmt.Sprintf("10.0.%d.%d", i/250, i%250), Revision: "v1", Phase: kube.Ready, Agent: true, Image: "solr:9.9.0",
		})
		r := reportOf(i)
		r.Nodes, r.Groups = slices.Clone(nodes), groups[i]
		in.Agents.Reports[string(uid)] = agents.Received{Report: r, At: noon}
	}
	return in
}

func TestBigClusterIsWhole(t *testing.T) {
	s := Join(big(30))
	require.Len(t, s.Groups, 100)
	require.Empty(t, s.Health.Disagree)
	for _, g := range s.Groups {
		require.Len(t, g.Members, 3)
		for _, m := range g.Members {
			require.Equal(t, model.MemberActive, m.State)
			require.NotEmpty(t, m.Pod)
		}
	}
}

func BenchmarkJoin(b *testing.B) {
	in := big(1000) // 10,000 members
	b.ReportAllocs()
	for b.Loop() {
		Join(in)
	}
}
