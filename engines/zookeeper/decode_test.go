package zookeeper

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func TestDecodeConfig(t *testing.T) {
	c, err := decodeConfig(strings.Join([]string{
		"tickTime=2000",
		"server.10=zk-9.zk.prod.svc.cluster.local:2888:3888",
		"server.2 = zk-1.zk:2888:3888:observer;0.0.0.0:2181",
		"server.1=[fd00::1]:2888:3888:participant;[::]:2281",
		"server.3=0.0.0.0:2888:3888;2381",
		"server.4=a.zk:2888:3888|b.zk:2889:3889:PARTICIPANT",
		"version=100000003",
	}, "\n"))
	require.NoError(t, err)
	require.False(t, c.Weighted)
	require.Equal(t, []Server{
		{Node: "server.1", Host: "fd00::1", Client: 2281, Voter: true},
		{Node: "server.2", Host: "zk-1.zk", Client: 2181},
		{Node: "server.3", Client: 2381, Voter: true},
		{Node: "server.4", Host: "a.zk", Voter: true},
		{Node: "server.10", Host: "zk-9.zk.prod.svc.cluster.local", Voter: true},
	}, c.Servers)
	require.Equal(t, []string{"server.1", "server.3", "server.4", "server.10"}, c.voters())

	c, err = decodeConfig("server.1=a:1:2\nserver.2=b:1:2\ngroup.1=1:2\nweight.1=2\n")
	require.NoError(t, err)
	require.True(t, c.Weighted)
}

func TestDecodeConfigRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                                "names no servers",
		"server.1=a:1:2:observer":         "names no servers",
		"server.1=a":                      "must be HOST:PORT:PORT",
		"server.1=:1:2":                   "must be HOST:PORT:PORT",
		"server.1=[::1:2":                 "must be HOST:PORT:PORT",
		"server.x=a:1:2":                  "must be server. and a number",
		"server.-1=a:1:2":                 "must be server. and a number",
		"server.1=a:1:2\nserver.01=b:1:2": "has server.1 twice",
		"server.1=a:1:2;b:port":           "its client port must be a number",
		"server.1=" + strings.Repeat("a", 300) + ":1:2": "too long",
		manyServers(maxServers + 1):                     "more than 64 servers",
	} {
		_, err := decodeConfig(text)
		require.ErrorContains(t, err, why, text)
	}
	_, err := decodeConfig(manyServers(maxServers))
	require.NoError(t, err)
}

func manyServers(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(nodeOf(int64(i)) + "=a:1:2\n")
	}
	return text.String()
}

func TestDecodeMonitor(t *testing.T) {
	const leader = "zk_version\t3.9.4-7246445e, built on 2025\nzk_server_state\tleader\nzk_synced_followers\t2\nzk_learners\t3\n"
	s, err := decodeMonitor(leader)
	require.NoError(t, err)
	require.Equal(t, status{id: -1, leader: -1, mode: Leading, version: "3.9.4", learners: 3, observing: -1, synced: 2}, s)
	s, err = decodeMonitor(strings.ReplaceAll(leader, "zk_learners", "zk_followers")) // 3.5
	require.NoError(t, err)
	require.EqualValues(t, 3, s.learners)
	for text, why := range map[string]string{
		leader[:len(leader)-1]:                            "ends in the middle",
		"zk_version\t3.9.4\nzk_server_state\tleader\n":    "does not tell how many follow",
		"zk_server_state\tleader\n":                       "does not tell its version",
		"zk_version\t3.9.4\n":                             "does not tell its mode",
		"zk_version\t3.9.4\nzk_server_state\tread-only\n": "read-only mode",
		"HTTP/1.1 400 Bad Request\r\n":                    "not ZooKeeper",
	} {
		_, err := decodeMonitor(text)
		require.ErrorContains(t, err, why, text)
	}
}

func TestDecodeData(t *testing.T) {
	whole := append([]byte("\x00\x00\x00\x07zxidzxid\x00\x00\x00\x00\x00\x00\x00\x02ab"), make([]byte, 68)...)
	text, err := decodeData(whole, 7)
	require.NoError(t, err)
	require.Equal(t, "ab", text)
	for name, answer := range map[string][]byte{
		"of another request": append([]byte{0, 0, 0, 8}, whole[4:]...),
		"too short":          whole[:15],
		"without a length":   whole[:17],
		"cut off":            whole[:21],
		"a huge length":      []byte("\x00\x00\x00\x07zxidzxid\x00\x00\x00\x00\x7f\xff\xff\xffab"),
		"an error":           []byte("\x00\x00\x00\x07zxidzxid\xff\xff\xff\x9b"),
	} {
		_, err := decodeData(answer, 7)
		require.Error(t, err, name)
	}
	text, err = decodeData([]byte("\x00\x00\x00\x07zxidzxid\x00\x00\x00\x00\xff\xff\xff\xff"), 7)
	require.NoError(t, err)
	require.Empty(t, text)
}

func FuzzDecode(f *testing.F) {
	f.Add("server.1=[::1]:1:2|b:3:4:observer;5", "zk_version\t3.9.4\nzk_server_state\tleader\nzk_learners\t99999999999999\nzk_synced_followers\t-1\n", []byte("\x00\x00\x00\x01"))
	f.Add("group.1=1\nserver.1=a:1:2\nserver.9223372036854775807=b:1:2;", "zk_version\t99999.1.1\n", []byte{})
	f.Fuzz(func(t *testing.T, config, mntr string, data []byte) {
		_, _ = decodeData(data, 0)
		s, err := decodeMonitor(mntr)
		if err != nil {
			return
		}
		if s.config = config; s.mode != Standalone {
			if _, err := decodeConfig(config); err != nil {
				return
			}
		}
		now := time.Unix(1000, 0)
		o := Observe(View{Now: now, Self: Member{State: s.state(State{Looked: now, Version: s.version}), Known: true}})
		require.Equal(t, engines.OneLine(o.Health.Reason), o.Health.Reason)
		for _, g := range o.Groups {
			require.LessOrEqual(t, len(g.Members), maxServers)
		}
		require.LessOrEqual(t, len(o.Nodes), maxServers+1)
	})
}

// FuzzPeers: whatever another agent says of its server, a report is bounded, and what the local
// configuration asks for stays asked for.
func FuzzPeers(f *testing.F) {
	for _, s := range healthy(3, 0)[1:] {
		data, err := json.Marshal(s.Told(time.Unix(1000, 0)))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"node":"server.2","serving":true,"mode":1,"learners":-5,"age":-1,"observing":-99999999999}`))
	f.Add([]byte(`{"node":"x\ny","serving":true,"mode":200,"config":{"servers":[{"node":"","voter":true}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		if json.Unmarshal(data, &s) != nil || !s.sensible() {
			return
		}
		v := viewOf(nil)
		v.Others[0].State = s.Heard(v.Now)
		o := Observe(v)
		require.Equal(t, engines.OneLine(o.Health.Reason), o.Health.Reason)
		require.Equal(t, engines.OneLine(o.Busy), o.Busy)
		ids := map[string]bool{}
		for _, g := range o.Groups {
			require.False(t, ids[g.ID], "two groups are called %s", g.ID)
			ids[g.ID] = true
			require.LessOrEqual(t, len(g.Members), maxServers)
			require.Greater(t, 2*g.MinAvailable, len(g.Members))
		}
		require.True(t, ids["voters 1,2,3"])
		_ = departure{assessment: assess(v), node: "server.2"}.decide()
	})
}
