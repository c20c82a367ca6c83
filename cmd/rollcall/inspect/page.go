package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/coordinator/journal"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/status/web"
)

// Page serves the page of the coordinator on this machine.
func Page(a *cli.App) *cobra.Command {
	var listen, file string
	cmd := &cobra.Command{
		Use:   "page [NAME]",
		Short: "Show the coordinator's page in a browser: pods, copies, plan, timeline",
		Long: `Serve the read-only page of the elected coordinator on this machine, until
interrupted: the pods by zone, the copies on them, the plan with what holds each
pod, the forecast and what came of it.

The page is reached through the API server, by those who may read the Secret
rollcall-reader and forward ports in Rollcall's namespace. Everybody who can
connect to this machine's loopback can read it meanwhile.

With --journal it shows the end of a saved journal, and how it came to that; no
cluster is asked.`,
		Example:           fmt.Sprintf("  %[1]s page search -n prod\n  %[1]s page --journal search.json", a.Name),
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" && len(args) > 0 {
				return errors.New("a journal is about one DatabaseCluster: give --journal or a name, not both")
			}
			if err := onLoopback(listen); err != nil {
				return err
			}
			handler, where, done, err := page(cmd.Context(), a, file, args)
			if err != nil {
				return err
			}
			defer done()
			return servePage(cmd.Context(), a, listen, where, handler)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8951", "where to serve it: an address of the loopback, and a port; 0 = any")
	cmd.Flags().StringVar(&file, "journal", "", "show this saved journal")
	return cmd
}

// onLoopback refuses addresses that other machines could reach.
func onLoopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen %q is not host:port, such as 127.0.0.1:8951", listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--listen %q: everybody who reaches that address could read the page: must be 127.0.0.1, ::1 or localhost", listen)
	}
	return nil
}

// page returns the handler to serve and the URL fragment of the cluster to show.
func page(ctx context.Context, a *cli.App, file string, args []string) (handler http.Handler, where string, done func(), err error) {
	if file != "" {
		handler, where, err = pageOfJournal(file)
		return handler, where, func() {}, err
	}
	if len(args) > 0 {
		ns, err := a.Namespace()
		if err != nil {
			return nil, "", nil, err
		}
		where = ns + "/" + args[0]
	}
	opts, err := a.Coordinator()
	if err != nil {
		return nil, "", nil, err
	}
	within, cancel := context.WithTimeout(ctx, cli.CallTimeout)
	defer cancel()
	page, err := reach.NewPage(within, opts)
	if err != nil {
		return nil, "", nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "https", Host: "rollcall"})
		},
		Transport:     page.Transport(),
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				fmt.Fprintf(a.ErrOut, "note: %v\n", err)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			_ = json.NewEncoder(w).Encode(web.Problem{Error: err.Error()})
		},
	}, where, page.Close, nil
}

// pageOfJournal serves the last decision of a saved journal and its timeline.
func pageOfJournal(file string) (http.Handler, string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	j, err := journal.Decode(data)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	if len(j.Entries) == 0 {
		return nil, "", fmt.Errorf("%s: there is no decision in this journal", file)
	}
	timelines := web.NewTimelines()
	board := status.NewBoard(timelines)
	board.Lead()
	var key status.Key
	for _, e := range j.Entries {
		d := status.FromSnapshot(e.Snapshot)
		d.Plan, d.Phase, d.DecidedAt = e.Plan, e.Plan.Phase, e.At.Time
		key = d.Key
		board.Publish(d)
	}
	return web.NewHandler(board, timelines), key.String(), nil
}

// servePage serves until ctx ends.
func servePage(ctx context.Context, a *cli.App, listen, where string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	link := url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/", Fragment: where}
	fmt.Fprintf(a.Out, "%s\n", link.String())
	fmt.Fprintln(a.ErrOut, "open this in a browser; interrupt to end")
	server := &http.Server{
		Handler:           ownHost(listener.Addr().(*net.TCPAddr).Port, handler),
		ReadHeaderTimeout: 5 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ownHost refuses requests for any other host name, which prevents DNS rebinding.
func ownHost(port int, next http.Handler) http.Handler {
	own := []string{"localhost", "127.0.0.1", "::1"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, asked, err := net.SplitHostPort(r.Host)
		if err != nil { // browsers leave out the port of HTTP
			host, asked = strings.Trim(r.Host, "[]"), "80"
		}
		if !slices.Contains(own, host) || asked != strconv.Itoa(port) {
			http.Error(w, "this page is served to this machine only, as localhost", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
