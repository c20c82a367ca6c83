package door

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Newest serves a limited number of requests at a time. One more ends another: of
// the address that has most, the one that began first. An answer that its reader
// does not read is held in memory, and by then whoever reads has read it, unless
// somebody else asks all the time.
func Newest(most int, next http.Handler) http.Handler {
	n := &newest{next: next, most: most}
	return n
}

type newest struct {
	next http.Handler
	most int

	mu      sync.Mutex
	serving []*served // by start
}

// served is a request that is being answered.
type served struct {
	control *http.ResponseController
	peer    netip.Prefix
}

func (n *newest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := &served{control: http.NewResponseController(w)}
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		own.peer = Peer(from.Addr())
	}
	n.mu.Lock()
	n.serving = append(n.serving, own)
	if len(n.serving) > n.most {
		i := n.last()
		_ = n.serving[i].control.SetWriteDeadline(time.Unix(1, 0))
		n.serving = slices.Delete(n.serving, i, i+1)
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if i := slices.Index(n.serving, own); i >= 0 {
			n.serving = slices.Delete(n.serving, i, i+1)
		}
	}()
	n.next.ServeHTTP(w, r)
}

// last returns the one that makes room: the first of whoever has most, the newcomer
// counted. mu is held.
func (n *newest) last() int {
	counts, most := map[netip.Prefix]int{}, 0
	for _, s := range n.serving {
		counts[s.peer]++
		most = max(most, counts[s.peer])
	}
	return slices.IndexFunc(n.serving, func(s *served) bool { return counts[s.peer] == most })
}
