package witness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

// PrimaryOptions are the primary options of a look at who can be written to.
type PrimaryOptions struct {
	// Servers that exist now, in any state.
	Servers func() []sqlpod.Server
	// Login is a login that may read a server's replication status.
	Login sqlpod.Login
	// Every is the time between two looks at one server, default 25 ms.
	Every time.Duration
}

// Primaries is what was seen.
type Primaries struct {
	Looks int `json:"looks"`
	// Turns are the turns of who could be written to, in their order. One server's turn goes on
	// when it was closed for a while and nobody else was open.
	Turns []string `json:"turns"`
	// Reopened counts how often the same server was open again after it had been closed.
	Reopened int `json:"reopened"`
	// None is the longest time during which nobody could be written to, Nones all of them.
	None  time.Duration `json:"none"`
	Nones time.Duration `json:"nones"`
	// Two says when two could be written to at once. There must be none.
	Two []string `json:"two,omitempty"`
}

// Switchovers is how often another server took over.
func (p Primaries) Switchovers() int { return max(0, len(p.Turns)-1) }

func (p Primaries) String() string {
	text := fmt.Sprintf("%d switchovers (%s); nobody could be written to for %d ms at most, %d ms in all; two at once: %d times in %d looks",
		p.Switchovers(), strings.Join(p.Turns, " -> "), p.None.Milliseconds(), p.Nones.Milliseconds(), len(p.Two), p.Looks)
	if p.Reopened > 0 {
		text += fmt.Sprintf("; %d times the same server was open again", p.Reopened)
	}
	return text
}

// Primary asks every server all the time whether it can be written to.
type Primary struct {
	opts  PrimaryOptions
	pools sqlpod.Pools

	mu    sync.Mutex
	seen  map[string]*spans // by UID of the pod and address
	names map[string]string
	looks int
	known map[string]Known // by pod
}

// Known is what the newest look at a server found.
type Known struct {
	At       time.Time
	Answers  bool
	Writable bool
	Follows  sqlpod.Follows
}

// spans are the times at which a server could be written to. Between two looks
// that say so it could be all the time.
type spans struct {
	all []span
	// open means that the newest look said so.
	open bool
}

// span begins when the first look of it was answered and ends when the last was
// asked: what is in between is sure.
type span struct{ from, to time.Time }

// NewPrimary looks when it runs.
func NewPrimary(opts PrimaryOptions) *Primary {
	if opts.Every == 0 {
		opts.Every = 25 * time.Millisecond
	}
	if opts.Login.Answer == 0 {
		opts.Login.Answer = time.Second
	}
	return &Primary{opts: opts, pools: sqlpod.Pools{Login: opts.Login}, seen: map[string]*spans{}, names: map[string]string{}, known: map[string]Known{}}
}

// Run looks until ctx ends.
func (p *Primary) Run(ctx context.Context) {
	defer p.pools.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	watched := map[string]context.CancelFunc{}
	defer func() {
		for _, stop := range watched {
			stop()
		}
	}()
	for ctx.Err() == nil {
		there := map[string]bool{}
		for _, s := range p.opts.Servers() {
			key := s.UID + "/" + s.Address
			there[key] = true
			if watched[key] == nil {
				one, stop := context.WithCancel(ctx)
				watched[key] = stop
				wg.Go(func() { p.watch(one, key, s) })
			}
		}
		for key, stop := range watched {
			if !there[key] {
				stop()
				delete(watched, key)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *Primary) watch(ctx context.Context, key string, s sqlpod.Server) {
	for n := 0; ctx.Err() == nil; n++ {
		asked := time.Now()
		writable, err := p.ask(ctx, s)
		if ctx.Err() != nil && err != nil {
			break
		}
		p.note(key, s, asked, time.Now(), writable, err)
		if err == nil && n%10 == 0 {
			if f, err := sqlpod.Following(ctx, p.pools.Of(s)); err == nil {
				p.follows(s, f)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(p.opts.Every):
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, s.Pod)
}

func (p *Primary) ask(ctx context.Context, s sqlpod.Server) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return sqlpod.Writable(ctx, p.pools.Of(s))
}

func (p *Primary) note(key string, s sqlpod.Server, asked, answered time.Time, writable bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	p.names[key] = s.Pod
	if p.seen[key] == nil {
		p.seen[key] = &spans{}
	}
	known := p.known[s.Pod]
	known.At, known.Answers, known.Writable = answered, err == nil, writable
	p.known[s.Pod] = known
	p.seen[key].note(asked, answered, writable && err == nil)
}

func (x *spans) note(asked, answered time.Time, writable bool) {
	switch {
	case writable && x.open:
		x.all[len(x.all)-1].to = asked
	case writable:
		// It is open at one moment at least, which is somewhere in this look.
		x.all = append(x.all, span{answered, answered})
	}
	x.open = writable
}

func (p *Primary) follows(s sqlpod.Server, f sqlpod.Follows) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[s.Pod]
	known.Follows = f
	p.known[s.Pod] = known
}

// Known by pod, from the newest looks.
func (p *Primary) Known() map[string]Known {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.known)
}

// turn is a span with whose it is.
type turn struct {
	key, pod string
	span
}

// Report so far.
func (p *Primary) Report() Primaries {
	p.mu.Lock()
	defer p.mu.Unlock()
	var turns []turn
	for key, x := range p.seen {
		for _, s := range x.all {
			turns = append(turns, turn{key, p.names[key], s})
		}
	}
	out := judge(turns)
	out.Looks = p.looks
	return out
}

// judge goes through the times at which servers could be written to.
func judge(turns []turn) Primaries {
	var out Primaries
	slices.SortFunc(turns, func(a, b turn) int {
		if c := a.from.Compare(b.from); c != 0 {
			return c
		}
		return strings.Compare(a.key, b.key)
	})
	var last turn // the one that is open longest so far
	for i, t := range turns {
		switch {
		case i == 0:
		case t.from.After(last.to):
			gap := t.from.Sub(last.to)
			out.None = max(out.None, gap)
			out.Nones += gap
			if t.pod == last.pod {
				out.Reopened++
			}
		case t.key != last.key:
			out.Two = append(out.Two, fmt.Sprintf("%s: %s and %s, for %d ms", t.from.Format("15:04:05.000"), last.pod, t.pod, earlier(last.to, t.to).Sub(t.from).Milliseconds()))
		}
		if n := len(out.Turns); n == 0 || out.Turns[n-1] != t.pod {
			out.Turns = append(out.Turns, t.pod)
		}
		if i == 0 || t.to.After(last.to) {
			last = t
		}
	}
	return out
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Rows is the shard that all servers have a copy of.
const Rows = "rows/0"

// State is the newest look as a State of one shard: the server that can be
// written to leads, a replica is active when both of its threads run.
func (p *Primary) State(servers int) State { return p.state(servers, true) }

// Copies is State in which a replica also counts that follows somebody else than
// the primary, or that connects to it, as all do for a moment after it was handed over.
func (p *Primary) Copies(servers int) State { return p.state(servers, false) }

func (p *Primary) state(servers int, strict bool) State {
	known := p.Known()
	var shard Shard
	out := State{Shards: map[string]Shard{}}
	pods := slices.Sorted(maps.Keys(known))
	var primary string
	for _, pod := range pods {
		if k := known[pod]; k.Answers && k.Writable && primary == "" {
			primary = pod
		}
	}
	for _, pod := range pods {
		k := known[pod]
		f := k.Follows
		switch {
		case !k.Answers:
			shard.misses("%s does not answer", pod)
			continue
		case pod == primary:
			shard.has(pod, true)
		case k.Writable:
			shard.misses("%s can be written to as well as %s", pod, primary)
		case f.Source == "":
			shard.misses("%s follows nobody", pod)
		case !strict && f.Applying && f.Failure == "" && primary != "" && hostOf(f.Source) == primary:
			shard.has(pod, false) // it has a new source and is still connecting
		case !f.Receiving || !f.Applying:
			shard.misses("%s follows %s, receiving=%t applying=%t %s", pod, f.Source, f.Receiving, f.Applying, f.Failure)
		case strict && primary != "" && hostOf(f.Source) != primary:
			shard.misses("%s follows %s", pod, f.Source)
		default:
			shard.has(pod, false)
		}
		out.Live = append(out.Live, pod)
	}
	for shard.Replicas < servers {
		shard.misses("a server is not there")
	}
	out.Elected = primary
	out.Shards[Rows] = shard
	return out
}

// ReadServers looks at every server once.
func ReadServers(ctx context.Context, servers []sqlpod.Server, login sqlpod.Login, desired int) State {
	p := NewPrimary(PrimaryOptions{Servers: func() []sqlpod.Server { return servers }, Login: login})
	defer p.pools.Close()
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			asked := time.Now()
			writable, err := p.ask(ctx, s)
			var f sqlpod.Follows
			if err == nil {
				f, err = sqlpod.Following(ctx, p.pools.Of(s))
			}
			p.note(s.UID+"/"+s.Address, s, asked, time.Now(), writable, err)
			p.follows(s, f)
		})
	}
	wg.Wait()
	return p.State(desired)
}
