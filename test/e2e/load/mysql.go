package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

// Schema and Table are where rows go.
const (
	Schema = "app"
	Table  = "acked"
)

// RowOptions are the row options of a client of MySQL or MariaDB. Zero fields take the defaults
// named here.
type RowOptions struct {
	// Servers that may be there now, in any state: a careful client knows all names.
	Servers func() []sqlpod.Server
	// Ready are those that a Service would send a reader to.
	Ready func() []sqlpod.Server
	// Service is the address of the Service that writers use. Empty: they look for the server that
	// can be written to among all.
	Service string
	// Dial is how the Service is reached. nil: directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Login is the login of the application.
	Login sqlpod.Login
	// Writers, default 2.
	Writers int
	// WritesOnly has nobody read, as where one server is all that there is.
	WritesOnly bool
	// Think is the rest between two writes of a writer, default 10 ms.
	Think time.Duration
	// Patience is how long a write is repeated before it counts as failed, default 30 s.
	Patience time.Duration
	// Pause before a write is repeated and nobody could be written to, default 20 ms.
	Pause time.Duration
	// Blip is the least time without an acknowledged write that is an interruption, default 500 ms.
	Blip time.Duration
}

// Rows is a client that writes rows with increasing ids to the one server that
// can be written to, wherever that is, and reads them everywhere.
//
// It is the judge of a switchover, so it knows nothing of Rollcall. A write that
// failed is repeated, on another server if need be: a row is known by its id.
type Rows struct {
	opts  RowOptions
	first int64
	last  atomic.Int64
	finds *finder
	stats stats
}

// NewRows checks the options.
func NewRows(opts RowOptions) (*Rows, error) {
	if opts.Servers == nil || opts.Login.User == "" {
		return nil, errors.New("load: servers and a login are needed")
	}
	if opts.Ready == nil {
		opts.Ready = opts.Servers
	}
	opts.Login.Schema = ""
	setDefault(&opts.Writers, 2)
	setDefault(&opts.Think, 10*time.Millisecond)
	setDefault(&opts.Patience, 30*time.Second)
	setDefault(&opts.Pause, 20*time.Millisecond)
	setDefault(&opts.Blip, 500*time.Millisecond)
	r := &Rows{opts: opts, first: time.Now().UnixMicro()}
	r.last.Store(r.first)
	r.finds = &finder{servers: opts.Servers, pools: sqlpod.Pools{Login: opts.Login}, asking: map[string]bool{}}
	r.stats.acked = map[string][]Doc{}
	return r, nil
}

// Statements that make the table, in a schema that is there.
func Statements() []string {
	return []string{
		"CREATE TABLE IF NOT EXISTS " + Schema + "." + Table + " (id BIGINT PRIMARY KEY, tries INT NOT NULL, sent TIMESTAMP(6) NOT NULL)",
	}
}

// insert changes something when it is repeated, too: its acknowledgement is one
// of that change, and not of what somebody else may not have acknowledged.
const insert = "INSERT INTO " + Schema + "." + Table + " (id, tries, sent) VALUES (?, 1, NOW(6)) ON DUPLICATE KEY UPDATE tries = tries + 1"

// Run blocks until ctx ends. A write in flight is completed, not cut off.
func (r *Rows) Run(ctx context.Context) Stats {
	var wg sync.WaitGroup
	for range r.opts.Writers {
		wg.Go(func() { r.writer(ctx) })
	}
	if !r.opts.WritesOnly {
		wg.Go(func() { r.reader(ctx) })
	}
	wg.Wait()
	r.finds.pools.Close()
	r.stats.ends(time.Now())
	return r.Stats()
}

// Stats so far; safe while running.
func (r *Rows) Stats() Stats {
	s := r.stats.snapshot()
	s.Writes = r.stats.writes(r.opts.Blip)
	return s
}

// Written is the one table, once something is in it.
func (r *Rows) Written() []string {
	if r.Stats().Acked[Table] == 0 {
		return nil
	}
	return []string{Table}
}

func (r *Rows) writer(ctx context.Context) {
	w := &writer{Rows: r}
	defer w.leave()
	for ctx.Err() == nil {
		w.write(r.last.Add(1))
		rest(ctx, r.opts.Think)
	}
}

// writer has a connection to the server that it has last written to.
type writer struct {
	*Rows
	at   sqlpod.Server
	db   *sql.DB
	conn *sql.Conn // of db, and never another one unnoticed
}

func (w *writer) leave() {
	if w.conn != nil {
		_ = w.conn.Close()
	}
	if w.db != nil {
		_ = w.db.Close()
	}
	w.db, w.conn = nil, nil
}

// connect finds the server to write to.
func (w *writer) connect(ctx context.Context) (err error) {
	login, address := w.opts.Login, w.opts.Service
	login.Dial = w.opts.Dial
	if address == "" {
		at, ok := w.finds.writable(ctx)
		if !ok {
			return errNobody
		}
		w.at, address, login.Dial = at, at.Address, nil
	}
	w.db = sqlpod.Open(address, login)
	if w.conn, err = w.db.Conn(ctx); err == nil && w.opts.Service != "" {
		err = w.conn.QueryRowContext(ctx, "SELECT @@hostname").Scan(&w.at.Pod)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

func (w *writer) write(id int64) {
	start := time.Now()
	for try := 1; ; try++ {
		sent := time.Now()
		err := w.once(id)
		if err == nil {
			w.stats.done(time.Since(start), try)
			w.stats.wrote(Table, Doc{ID: strconv.FormatInt(id, 10), Acked: time.Now(), Sent: sent, Through: w.at.Pod})
			return
		}
		if time.Since(start) > w.opts.Patience {
			w.stats.failed(Failure{At: start, Kind: "write", Collection: Table, Error: err.Error(), Took: time.Since(start)})
			return
		}
		w.leave()
		if w.opts.Service != "" || errors.Is(err, errNobody) {
			time.Sleep(w.opts.Pause)
		}
	}
}

var errNobody = errors.New("no server can be written to")

func (w *writer) once(id int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if w.conn == nil {
		if err := w.connect(ctx); err != nil {
			return err
		}
	}
	if _, err := w.conn.ExecContext(ctx, insert, id); err != nil {
		return fmt.Errorf("%s: %w", w.at.Pod, err)
	}
	return nil
}

// reader reads from every server that is Ready, one after the other. A read that
// fails is tried on two others.
func (r *Rows) reader(ctx context.Context) {
	pools := sqlpod.Pools{Login: r.opts.Login}
	defer pools.Close()
	for n := 0; ctx.Err() == nil; n++ {
		r.read(&pools, n)
		rest(ctx, 5*r.opts.Think)
	}
}

func (r *Rows) read(pools *sqlpod.Pools, n int) {
	start := time.Now()
	err := errors.New("no Ready pod")
	for try := 1; try <= 3; try++ {
		if try > 1 {
			time.Sleep(200 * time.Millisecond)
		}
		servers := r.opts.Ready()
		if len(servers) == 0 {
			continue
		}
		s := servers[(n+try)%len(servers)]
		var rows int64
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		err = pools.Of(s).QueryRowContext(ctx, "SELECT COUNT(*) FROM "+Schema+"."+Table+" WHERE id BETWEEN ? AND ?", r.first, r.first+100).Scan(&rows)
		cancel()
		if err == nil {
			r.stats.done(time.Since(start), try)
			return
		}
		err = fmt.Errorf("%s: %w", s.Pod, err)
	}
	r.stats.failed(Failure{At: start, Kind: "read", Collection: Table, Error: err.Error(), Took: time.Since(start)})
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Gone are the acknowledged rows that are not on every server.
func (r *Rows) Gone(string) ([]Doc, error) {
	acked := r.stats.docs(Table)
	missing := map[string]bool{}
	servers := r.opts.Servers()
	if len(servers) == 0 {
		return nil, errors.New("load: there is no server")
	}
	for _, s := range servers {
		has, err := r.On(context.Background(), s)
		if err != nil {
			return nil, fmt.Errorf("load: rows of %s: %w", s.Pod, err)
		}
		for _, d := range acked {
			if !has[d.ID] {
				missing[d.ID] = true
			}
		}
	}
	var gone []Doc
	for _, d := range acked {
		if missing[d.ID] {
			gone = append(gone, d)
		}
	}
	return gone, nil
}

// On are the ids of this client's rows on one server, acknowledged or not.
func (r *Rows) On(ctx context.Context, s sqlpod.Server) (map[string]bool, error) {
	login := r.opts.Login
	login.Answer = 30 * time.Second
	db := sqlpod.Open(s.Address, login)
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(ctx, "SELECT id FROM "+Schema+"."+Table+" WHERE id BETWEEN ? AND ?", r.first, r.last.Load())
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	has := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		has[id] = true
	}
	return has, rows.Err()
}

// Holders says which servers have a row.
func (r *Rows) Holders(ctx context.Context, id string) string {
	var words []string
	for _, s := range r.opts.Servers() {
		has, err := r.On(ctx, s)
		switch {
		case err != nil:
			words = append(words, fmt.Sprintf("%s could not be asked: %v", s.Pod, err))
		case has[id]:
			words = append(words, s.Pod+" has it")
		default:
			words = append(words, s.Pod+" has it not")
		}
	}
	return strings.Join(words, ", ")
}

// finder looks for the server that can be written to, by asking all of them.
type finder struct {
	servers func() []sqlpod.Server
	pools   sqlpod.Pools

	mu     sync.Mutex
	asking map[string]bool
}

// writable is the first server that says so.
func (f *finder) writable(ctx context.Context) (sqlpod.Server, bool) {
	servers := f.servers()
	rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	answers := make(chan *sqlpod.Server, len(servers))
	asked := 0
	for _, s := range servers {
		if !f.begin(s) {
			continue // another writer asks it, or it has not answered yet
		}
		asked++
		go func() {
			defer f.end(s)
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if yes, err := sqlpod.Writable(ctx, f.pools.Of(s)); err == nil && yes {
				answers <- &s
				return
			}
			answers <- nil
		}()
	}
	late := time.After(200 * time.Millisecond) // do not wait for a server that hangs
	for range asked {
		select {
		case s := <-answers:
			if s != nil {
				return *s, true
			}
		case <-late:
			return sqlpod.Server{}, false
		}
	}
	return sqlpod.Server{}, false
}

func (f *finder) begin(s sqlpod.Server) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking[s.Address] {
		return false
	}
	f.asking[s.Address] = true
	return true
}

func (f *finder) end(s sqlpod.Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.asking, s.Address)
}
