package foundationdb

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// status looks with one run of fdbcli: it reads the document as it comes, and then the list of storage
// servers. fdbcli is ended where the document says that there is no database to list them.
// (TestOneRunForALook)
//
// It ends a moment before ctx does, with words for what was not there in time. (TestSlowLooks).
func (c *client) status(whole context.Context) (*status, error) {
	ctx, cancel := before(whole)
	defer cancel()
	s, err := c.statusAndList(ctx)
	switch {
	case whole.Err() != nil:
		return nil, whole.Err()
	case s == nil && ctx.Err() != nil:
		return nil, fmt.Errorf("status: %w", ErrTimeout)
	case err != nil && !errors.Is(err, ctx.Err()):
		return nil, err
	case err != nil:
		s.list = serverList{why: "the list of storage servers was not read in time"}
	}
	return s, nil
}

// toSay is how long before its end a look is given up.
const toSay = 500 * time.Millisecond

// before is a context that ends a moment before another.
func before(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(toSay, time.Until(end)/10)))
}

// statusAndList returns the document as well where the context ended before the list was read.
func (c *client) statusAndList(ctx context.Context) (*status, error) {
	var s *status
	var listed answer
	var err error
	listed.stderr, err = c.start(ctx, "status json; "+serverListFrom(serverListBegin), func(stdout io.Reader) error {
		out := bufio.NewReader(stdout)
		limits := statusLimits
		limits.Bytes = min(limits.Bytes, c.options.MaxBytes)
		in := web.NewBounded(&firstAnswer{in: out, begin: true}, limits)
		read, err := decodeStatus(in)
		if err == nil {
			if s = read; !is(s.available) {
				return errNoDatabase
			}
			_, err = io.Copy(io.Discard, in)
		}
		if errors.Is(err, web.ErrTooLarge) {
			return fmt.Errorf("%w: %w", ErrTooMuch, err)
		}
		if err != nil {
			return err
		}
		var text bytes.Buffer
		_, err = io.Copy(&text, &bounded{reader: out, left: min(maxText, c.options.MaxBytes)})
		listed.stdout = text.String()
		return err
	})
	if s == nil || errors.Is(err, ErrClosed) {
		return nil, err
	}
	if s.connection != "" {
		if err := c.file.belongs(s.connection); err != nil {
			return nil, err
		}
	} else if len(s.processes) > 0 {
		return nil, fmt.Errorf("%w: it does not say of which database it is", ErrStatus)
	}
	if !is(s.available) {
		return s, nil
	}
	if err == nil && strings.Contains(listed.stderr, timeoutWords) {
		err = ErrTimeout
	}
	if err != nil && ctx.Err() != nil {
		return s, err
	}
	if err != nil {
		s.list = unread(err)
		return s, nil
	}
	s.list, err = c.servers(ctx, listed)
	return s, err
}

// errNoDatabase ends fdbcli where nothing else can be asked.
var errNoDatabase = errors.New("there is no database")

// firstAnswer is what fdbcli prints of the first of several commands: up to the line that names the
// next one, which is an option.
type firstAnswer struct {
	in    *bufio.Reader
	left  []byte // of a line, or of its part
	begin bool   // of a line
	ended bool
}

func (f *firstAnswer) Read(p []byte) (int, error) {
	if len(f.left) == 0 && !f.ended {
		line, err := f.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && len(line) == 0 {
			return 0, err
		}
		f.left, f.ended = line, f.begin && bytes.HasPrefix(line, []byte(">>> option "))
		f.begin = bytes.HasSuffix(line, []byte("\n"))
	}
	if f.ended {
		return 0, io.EOF
	}
	n := copy(p, f.left)
	f.left = f.left[n:]
	return n, nil
}

// snapshot is a status with what is remembered from earlier ones.
type snapshot struct {
	*status
	away      []remembered
	recovered time.Duration
	now       time.Time
	born      time.Time // of the pod; zero means unknown
	last      map[string]whereabouts
}

// recent is how long ago a look may have ended that a plan still uses.
const recent = 3 * time.Second

// lastLook is the newest look that succeeded, or nothing where the newest failed.
type lastLook struct {
	snapshot
	ended   time.Time
	changes int64 // what this client had asked for before
}

// look looks at the database, and keeps what it saw for a plan that is asked for next.
func (e *Engine) look(ctx context.Context) (snapshot, error) {
	return e.lookUnless(ctx, func() (snapshot, bool) { return snapshot{}, false })
}

// lookUnless looks, one look at a time, unless the one that was waited for will do.
func (e *Engine) lookUnless(ctx context.Context, there func() (snapshot, bool)) (snapshot, error) {
	select {
	case e.looking <- struct{}{}:
		defer func() { <-e.looking }()
	case <-ctx.Done():
		return snapshot{}, ctx.Err()
	}
	if s, ok := there(); ok {
		return s, ctx.Err()
	}
	last := lastLook{changes: e.client.changes.Load()}
	s, err := e.lookNow(ctx)
	if err == nil {
		last.snapshot = s
	}
	last.ended = e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = last
	return s, err
}

func (e *Engine) lookNow(ctx context.Context) (snapshot, error) {
	s, err := e.client.status(ctx)
	if err != nil {
		return snapshot{}, err
	}
	out := snapshot{status: s, now: e.now(), born: e.born}
	if is(s.available) {
		e.mu.Lock()
		defer e.mu.Unlock()
		out = e.remember(out)
	}
	return out, nil
}

// remember adds to what was seen what is remembered, and remembers what was seen.
func (e *Engine) remember(s snapshot) snapshot {
	e.memory.lookAt(s.now, s.status)
	s.last = e.memory.last
	s.away, s.recovered = e.memory.look(s.now, s.status), e.memory.recoveredFor(s.now, s.status)
	return s
}

// slack is how much older a process may seem than its pod.
const slack = 10 * time.Second

// earlier reports whether a process is one of an earlier pod of the same name, whose end the
// database has not noticed.
func (s snapshot) earlier(p process) bool {
	if s.born.IsZero() || p.uptime == nil {
		return false
	}
	return time.Duration(*p.uptime*float64(time.Second)) > s.now.Sub(s.born)+slack
}

// observation is pure: a snapshot in, facts out, and Unknown for the rest.
func (e *Engine) observation(s snapshot, err error) engines.Observation {
	if err != nil {
		return engines.Observation{Health: engines.Health{Reason: err.Error()}}
	}
	if !is(s.available) {
		return engines.Observation{Health: s.downHealth()}
	}
	name := e.options.Instance
	o := engines.Observation{Node: name, Groups: s.groups(s.away), Nodes: s.nodes(s.away), Health: s.health(e.options.Recovered)}
	moving := !s.calm()
	for i := range o.Groups {
		if o.Groups[i].Kind == engines.GroupShard && strings.HasPrefix(o.Groups[i].ID, "storage") {
			o.Groups[i].Moving = moving
		}
	}
	own := s.of(name)
	o.Roles, o.Rank = rolesOf(own), rankOf(own)
	o.Settled = len(own) > 0 && o.Health.Verdict != engines.VerdictRed
	for _, p := range own {
		o.DataBytes += p.stored
		o.Version = p.version
		o.Excluded = o.Excluded || s.excludedByAddress(p)
		if s.earlier(p) {
			// The database has not noticed yet that the old one ended, so nothing is known of the
			// new one.
			o.Member, o.Settled = engines.MembershipUnknown, false
			o.Veto = fmt.Sprintf("%s is listed with the process of an earlier pod", endpoint(p.address))
			return o
		}
		o.Member = engines.MembershipLive
		if _, err := parseVersion(p.version); err != nil {
			o.Veto = err.Error()
		}
		o.Settled = o.Settled && p.state() == engines.MemberActive && p.hasItsData()
	}
	if len(own) == 0 {
		if why := s.notAll(e.options.Recovered); why != "" {
			o.Veto = "whether its process is in the database is not known: " + why
			return o
		}
		o.Member = engines.MembershipNotLive
		return o
	}
	if _, known := s.zoneOf(name); !known {
		o.Veto = "its fault domain is not known, or not one: start fdbserver with --locality_zoneid"
	}
	return o
}

// notAll returns why a process that the document does not list may exist all the same.
func (s snapshot) notAll(recovered time.Duration) string {
	if why := s.settling(); why != "" {
		return why
	}
	if s.recovered < recovered {
		return s.justRecovered(recovered)
	}
	return ""
}

// excludedByAddress reports whether the process is excluded only by its address, which a new pod in
// its place would not have.
func (s *status) excludedByAddress(p process) bool {
	for kind, value := range map[string]string{"instance_id": p.instance, "zoneid": p.zone, "dcid": p.dc, "data_hall": p.hall} {
		if value != "" && s.lists("locality_"+kind+":"+value) {
			return false
		}
	}
	return is(p.excluded) && (s.lists(endpoint(p.address)) || s.lists(ipOf(p.address)))
}

// hasItsData reports whether the process has the data that it should have. A process that can hold
// data holds some as soon as the database has found it again, unless it is excluded.
func (p process) hasItsData() bool {
	switch p.class {
	case "storage", "unset":
		return p.has("storage") || is(p.excluded)
	}
	return true
}

// Observe asks for the status once.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	s, err := e.look(ctx)
	if ctx.Err() != nil {
		return engines.Observation{}, ctx.Err()
	}
	if errors.Is(err, ErrClosed) {
		return engines.Observation{}, err
	}
	return e.observation(s, err), nil
}
