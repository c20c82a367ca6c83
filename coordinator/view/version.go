package view

import (
	"regexp"

	"github.com/Masterminds/semver/v3"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// versions are what a pool's new template is to run, and the oldest that its
// pods' reports say runs.
//
// An image's tag need not be the engine's version. It is taken for one only if
// the tags of running pods are the versions that these pods report.
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

// three numbers are needed: 9.10 as a tag means any 9.10.x.
var three = regexp.MustCompile(`^v?(\d{1,6}\.\d{1,6}\.\d{1,6})(?:$|[^\d.])`)

// numbers reads the version that a text begins with, nil when it is none.
func numbers(text string) *semver.Version {
	m := three.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	v, err := semver.NewVersion(m[1])
	if err != nil {
		return nil
	}
	return v
}
