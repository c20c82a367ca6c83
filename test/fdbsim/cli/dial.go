package cli

import (
	"context"
	"errors"
	"net/http"

	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// ErrNobody means that none of the coordinators answers.
var ErrNobody = errors.New("no coordinator answers")

// Remote is a database behind a cluster file. It keeps the file up to date, as a client does.
type Remote struct {
	file       string
	connection wire.Connection
	client     *http.Client
}

// Dial reads a cluster file.
func Dial(file string) (Database, error) {
	c, err := wire.ReadClusterFile(file)
	if err != nil {
		return nil, err
	}
	return &Remote{file: file, connection: c, client: wire.NewClient()}, nil
}

// Coordinators as the file had them last.
func (d *Remote) Coordinators() []string { return d.connection.Addresses }

// Ask asks the coordinators one after the other until one answers.
func (d *Remote) Ask(ctx context.Context, r wire.Request) (wire.Reply, error) {
	r.Connection = d.connection.Key()
	for _, address := range d.connection.Addresses {
		r.Via = address
		var reply wire.Reply
		if err := wire.Post(ctx, d.client, address, wire.PathAsk, r, &reply); err != nil {
			continue
		}
		d.follow(reply.Connection)
		return reply, nil
	}
	if err := ctx.Err(); err != nil {
		return wire.Reply{}, err
	}
	return wire.Reply{}, ErrNobody
}

// follow goes where the coordinators are now. That the file cannot be written is no failure: the next call finds the way again.
func (d *Remote) follow(connection string) {
	if connection == "" || connection == d.connection.String() {
		return
	}
	c, err := wire.ParseConnection(connection)
	if err != nil {
		return
	}
	d.connection = c
	_ = wire.WriteClusterFile(d.file, connection)
}
