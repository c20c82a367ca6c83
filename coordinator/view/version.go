package view

import (
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// versions returns what a pool's new template is to run, and the oldest version that its pods'
// reports say runs.
func (w *world) versions(pool int) (next, running string) {
	var (
		oldest *semver.Version
		// Most pods say the same, so what was read last is kept.
		said, tagged string
		v, tag       *semver.Version
	)
	trusted := true
	for i := range w.pods {
		p := &w.pods[i]
		if p.pool != pool || p.kube == nil || p.report.GetEngineVersion() == "" {
			continue
		}
		if text := p.report.GetEngineVersion(); text != said {
			said, v = text, numbers(text)
		}
		if v == nil {
			continue
		}
		if oldest == nil || v.LessThan(oldest) {
			oldest, running = v, p.report.GetEngineVersion()
		}
		if p.kube.Image != tagged {
			tagged, tag = p.kube.Image, numbers(kube.Tag(p.kube.Image))
		}
		if tag == nil || !tag.Equal(v) {
			trusted = false
		}
	}
	if !trusted {
		return "", running
	}
	if image := w.in.Kube.Pools[pool].Image; image != tagged {
		tag = numbers(kube.Tag(image))
	}
	if tag != nil {
		next = tag.String()
	}
	return next, running
}

// minSource returns the oldest version from which the newest of the pools' templates can be
// reached.
func minSource(byMajor map[int]string, pools []model.Pool) string {
	newest := -1
	for i := range pools {
		if v := numbers(pools[i].Version); v != nil {
			newest = max(newest, int(v.Major()))
		}
	}
	return byMajor[newest]
}

// numbers returns the version at the beginning of a text, or nil if there is none. Three numbers
// are needed: 9.10 as a tag means any 9.10.x.
func numbers(text string) *semver.Version {
	const digits = 6
	rest := strings.TrimPrefix(text, "v")
	var three [3]uint64
	for i := range three {
		n := 0
		for ; n < len(rest) && rest[n] >= '0' && rest[n] <= '9'; n++ {
			three[i] = three[i]*10 + uint64(rest[n]-'0')
		}
		point := n < len(rest) && rest[n] == '.'
		if n == 0 || n > digits || point != (i < 2) {
			return nil
		}
		rest = strings.TrimPrefix(rest[n:], ".")
	}
	return semver.New(three[0], three[1], three[2], "", "")
}
