package guard

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// strayFor is how long a pod whose StatefulSet is not shown keeps its guard while its
// DatabaseCluster guards. A StatefulSet that loses its label for a moment, or that is deleted
// without its pods and applied again, is rolled by its controller all that time, and only the
// guards keep its pods.
const strayFor = time.Minute

// unlabel removes the guard from pods that belong to no DatabaseCluster any more: at once or, if
// their StatefulSet may return, after strayFor.
func (w *writer) unlabel(ctx context.Context, key kube.Key, mayReturn bool) error {
	if !w.Synced() {
		return nil
	}
	now, known := time.Now(), w.straysOf(key)
	strays := map[types.UID]time.Time{}
	defer func() { w.setStrays(key, strays) }()
	for _, l := range w.watches.labelledOf(key.String()) {
		if l.belongs(w.options.Cache.Pool, w.options.Cache.Exists) {
			continue
		}
		since, ok := known[l.UID]
		if !ok {
			since = now
		}
		strays[l.UID] = since
		if wait := since.Add(strayFor).Sub(now); mayReturn && wait > 0 {
			w.lookAfter(key, wait)
			continue
		}
		if err := w.set(ctx, key, LabelChange{Pod: l.Name, UID: l.UID}); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) straysOf(key kube.Key) map[types.UID]time.Time {
	w.recently.Lock()
	defer w.recently.Unlock()
	return w.strays[key]
}

func (w *writer) setStrays(key kube.Key, strays map[types.UID]time.Time) {
	w.recently.Lock()
	defer w.recently.Unlock()
	if delete(w.strays, key); len(strays) > 0 {
		w.strays[key] = strays
	}
}
