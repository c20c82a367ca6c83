package door

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Newest serves so many requests at a time. The next one has one ended, that
// which began first of the address that has most: what is answered to a reader who does not
// read is held in memory, and who reads has read it by then, unless somebody else asks all the time.
func Newest(most int, next http.Handler) http.Handler {
	n := &newest{next: next, most: most}
	return n
}

type newest struct {
	next http.Handler
	most int

	mu      sync.Mutex
	serving []*served // by when they began
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

// last is which one makes room: the first of whoever has most, the newcomer counted. mu is held.
func (n *newest) last() int {
	counts, most := map[netip.Prefix]int{}, 0
	for _, s := range n.serving {
		counts[s.peer]++
		most = max(most, counts[s.peer])
	}
	return slices.IndexFunc(n.serving, func(s *served) bool { return counts[s.peer] == most })
}
