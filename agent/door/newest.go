package door

import (
	"net/http"
	"sync"
	"time"
)

// Newest serves so many requests at a time. The next one has the one ended that
// began first: what is answered to a reader who does not read is held in memory, and
// who reads has read it by then.
func Newest(most int, next http.Handler) http.Handler {
	n := &newest{next: next, most: most}
	return n
}

type newest struct {
	next http.Handler
	most int

	mu      sync.Mutex
	serving []*http.ResponseController // by when they began
}

func (n *newest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := http.NewResponseController(w)
	n.mu.Lock()
	if len(n.serving) >= n.most {
		_ = n.serving[0].SetWriteDeadline(time.Unix(1, 0))
		n.serving = n.serving[1:]
	}
	n.serving = append(n.serving, own)
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for i, c := range n.serving {
			if c == own {
				n.serving = append(n.serving[:i:i], n.serving[i+1:]...)
				return
			}
		}
	}()
	n.next.ServeHTTP(w, r)
}
