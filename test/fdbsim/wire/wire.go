// Package wire is what fdbcli, fdbserver and the world say to each other: JSON over HTTP. None of it resembles the real
// protocol of FoundationDB; only what fdbcli prints does.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Op is what is asked.
type Op string

// What fdbcli and clients ask.
const (
	Open            Op = "open" // begins a session: what fault it meets
	Status          Op = "status"
	Workers         Op = "workers"
	Exclude         Op = "exclude"
	Excluding       Op = "excluding" // lists
	Include         Op = "include"
	Maintenance     Op = "maintenance"
	Maintain        Op = "maintain"
	Distribution    Op = "distribution"
	Coordinators    Op = "coordinators"
	SetCoordinators Op = "set-coordinators"
	Kill            Op = "kill"
	Commit          Op = "commit"
	Read            Op = "read"
	ReadKeys        Op = "read-keys"
	Lock            Op = "lock"
)

// What processes and those in control ask of the world.
const (
	Join  Op = "join"
	Beat  Op = "beat"
	Leave Op = "leave"
	Order Op = "order"
	Look  Op = "look"
)

// Fault is what an fdbcli call meets instead of an answer, or besides it.
type Fault string

// The faults; see DESIGN.md.
const (
	None          Fault = ""
	Hang          Fault = "hang"
	HangForEver   Fault = "hang-for-ever"
	Garbage       Fault = "garbage"
	Endless       Fault = "endless"
	Truncated     Fault = "truncated"
	WrongDatabase Fault = "wrong-database"
	Fail          Fault = "fail"
	LongDelay     Fault = "long-delay"
	NoDocument    Fault = "no-document"
	Down          Fault = "down"
	LostAnswer    Fault = "lost-answer"
)

// Faults are all of them but None.
var Faults = []Fault{Hang, HangForEver, Garbage, Endless, Truncated, WrongDatabase, Fail, LongDelay, NoDocument, Down, LostAnswer}

// Request is the request of a client.
type Request struct {
	Op Op
	// Line is the version line of the caller, such as 7.3.
	Line string
	// Connection is the key of the connection string: description:id.
	Connection string
	// Via is the address of the process that was asked.
	Via string

	Exec        string   // the commands, on Open
	Targets     []string // of exclude and include; addresses of coordinators and kill
	Failed      bool
	All         bool
	Force       bool
	Auto        bool
	Zone        string // to maintain; "" ends it
	Seconds     float64
	Mode        string // of data distribution
	Description string
	Key, Value  string
	Begin, End  []byte // of keys that may be no text
	LockAware   bool
}

// Problem is why a request was not done.
type Problem string

// The problems.
const (
	NoProblem    Problem = ""
	Unavailable  Problem = "unavailable" // ask again
	Locked       Problem = "locked"
	Stranger     Problem = "stranger" // this is not the database of the connection string, or not its version
	NoRoom       Problem = "no-room"
	Ignored      Problem = "ignored-failures" // maintenance while failures of storage servers are ignored
	Unchanged    Problem = "unchanged"
	Unreachable  Problem = "unreachable"
	FewMachines  Problem = "few-machines"
	Unrecognised Problem = "unrecognised"
)

// Reply to a request.
type Reply struct {
	Problem    Problem
	Fault      Fault
	Version    string // of the cluster, on Open
	Connection string // of now; the cluster file is to hold it
	Available  bool
	Healthy    bool

	Document     string              // of Status
	Addresses    []string            // of Workers and Coordinators
	Stands       map[string][]string // of Excluding: the addresses that each locality stands for
	Seats        []string            // of Excluding: IP:port of the coordinators
	Excluded     []string
	Failed       []string
	InProgress   []string
	WaitsForAll  bool
	Description  string
	Zone         string
	Seconds      float64
	IgnoresFails bool
	Value        string
	Keys         [][]byte // of ReadKeys, sorted
	ReadVersion  int64
	Delay        time.Duration // of Status: how much longer it takes, in real time
}

// Member is a process that joins or beats.
type Member struct {
	Op       Op
	Instance string
	Address  string
	Host     string
	Zone     string
	Machine  string
	DC       string
	Hall     string
	Class    string
	Version  string
	Volume   string // the mark that is on it
	Command  string
	// Incarnation tells one run of the process from the next.
	Incarnation string
}

// Standing is the answer to a member.
type Standing struct {
	Known      bool   // the world has it; join when it has not
	Connection string // "" until there is a database
}

// Command is a command of the test that controls a world.
type Command struct {
	Op       Op // Order or Look
	Fault    Fault
	Instance string // whose calls meet the fault; "" for all
	Scale    *float64
	Advance  float64 // seconds
	Messages []string
	Message  bool // Messages are set
}

// View is the state of a world, for the test that controls it.
type View struct {
	Created     bool
	Connection  string // what a cluster file is to hold
	Available   bool
	DataReached bool
	DataKept    bool
	SpareCopies int
	Lost        int
	Epoch       int
	Up          []string
	Processes   int
	Maintenance string
	Excluded    []string
	Seats       []string // processes with a coordinator's seat
	Holding     []string // processes that data or mutations are counted on
	Calls       int
}

// Paths of the HTTP server of a world; a process serves PathAsk too, and passes it on.
const (
	PathAsk     = "/ask"
	PathMember  = "/member"
	PathControl = "/control"
	PathReady   = "/ready"
)

// limit is the limit of any message.
const limit = 64 << 20

// Post sends a message and decodes the answer.
func Post(ctx context.Context, client *http.Client, address, path string, message, answer any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s answers %s", address, path, response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, limit)).Decode(answer)
}

// NewClient is a client that gives up on silent hosts, and leaves no connection behind.
func NewClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:       (&net.Dialer{Timeout: time.Second}).DialContext,
		DisableKeepAlives: true,
	}}
}

// Serve returns messages of one kind.
func Serve[M, A any](answer func(context.Context, M) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var message M
		if err := json.NewDecoder(io.LimitReader(r.Body, limit)).Decode(&message); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, err := answer(r.Context(), message)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a)
	}
}
