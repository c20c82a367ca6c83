package forecast

// entry is a job in a queue.
type entry struct {
	key float64
	job int32
}

func (e entry) before(o entry) bool { return e.key < o.key || e.key == o.key && e.job < o.job }

// queue is a min-heap. It does not use container/heap, because a forecast spends most of its
// time here.
type queue []entry

func (q *queue) push(e entry) {
	h := append(*q, e)
	at := len(h) - 1
	for at > 0 {
		up := (at - 1) / 2
		if h[up].before(e) {
			break
		}
		h[at] = h[up]
		at = up
	}
	h[at] = e
	*q = h
}

func (q *queue) pop() entry {
	h := *q
	least := h[0]
	last := len(h) - 1
	e := h[last]
	h = h[:last]
	at := 0
	for {
		down := 2*at + 1
		if down >= last {
			break
		}
		if down+1 < last && h[down+1].before(h[down]) {
			down++
		}
		if e.before(h[down]) {
			break
		}
		h[at] = h[down]
		at = down
	}
	if last > 0 {
		h[at] = e
	}
	*q = h
	return least
}
