package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "sync"

// ordinary is a snapshot with one of each thing and without values: it has the decoder's defaults.
var ordinary = sync.OnceValue(func() model.Snapshot {
	s, err := model.Decode([]byte(`{"version":1,"pools":[{"replicas":0}],"pods":[{"report":{}}],"groups":[{"members":[{}]}]}`))
	if err != nil {
		panic(err)
	}
	return s
})

func defaultSnapshot() model.Snapshot {
	s := ordinary()
	s.Pools, s.Pods, s.Groups = nil, nil, nil
	return s
}

func defaultPool() model.Pool { return ordinary().Pools[0] }

func defaultPod() model.Pod {
	p := ordinary().Pods[0]
	p.Report = nil
	return p
}

func defaultReport() model.Report { return *ordinary().Pods[0].Report }

func defaultGroup() model.Group {
	g := ordinary().Groups[0]
	g.Members = nil
	return g
}

func defaultMember() model.Member { return ordinary().Groups[0].Members[0] }
