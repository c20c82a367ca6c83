package sqlchart

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

// server is what a server says of itself.
type server struct {
	pod, id  string
	writable bool
	// follows is the row of its replication status, nil when it follows nobody.
	follows map[string]string
}

// Follows waits until the servers replicate as the chart has them do, by their own word.
func (c *Cluster) Follows(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "every server to follow", limit, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		switch c.Replication {
		case GaleraMembers:
			return c.each(func(s sqlpod.Server) error {
				return c.says(ctx, s, "SELECT GROUP_CONCAT(VARIABLE_VALUE ORDER BY VARIABLE_NAME) FROM information_schema.GLOBAL_STATUS "+
					"WHERE VARIABLE_NAME IN ('wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_local_state_comment')", fmt.Sprintf("%d,Primary,Synced", c.Servers))
			})
		case GroupMembers:
			err := c.each(func(s sqlpod.Server) error {
				return c.says(ctx, s, "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'", fmt.Sprint(c.Servers))
			})
			_, one := c.Primary(ctx)
			return errors.Join(err, one)
		}
		return c.followSource(ctx)
	})
}

// followSource has all but one server follow that one, told by its number: replicas may know it by
// the name of a Service.
func (c *Cluster) followSource(ctx context.Context) error {
	primary, err := c.Primary(ctx)
	if err != nil {
		return err
	}
	servers, err := c.look(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(servers, func(s server) bool { return s.pod == primary })
	var errs []error
	for i, s := range servers {
		sees := func(suffix string) string { return s.follows["Master_"+suffix] + s.follows["Source_"+suffix] }
		runs := func(thread string) string { return s.follows["Slave_"+thread] + s.follows["Replica_"+thread] }
		switch {
		case i == at && s.follows != nil:
			errs = append(errs, fmt.Errorf("%s takes writes and follows %s", s.pod, sees("Host")))
		case i == at:
		case s.follows == nil:
			errs = append(errs, fmt.Errorf("%s follows nobody", s.pod))
		case runs("IO_Running") != "Yes" || runs("SQL_Running") != "Yes" || sees("Server_Id") != servers[at].id:
			errs = append(errs, fmt.Errorf("%s follows %s (%s), receives: %s, applies: %s %s%s", s.pod, sees("Host"), sees("Server_Id"), runs("IO_Running"), runs("SQL_Running"), s.follows["Last_IO_Error"], s.follows["Last_SQL_Error"]))
		}
	}
	return errors.Join(errs...)
}

// look asks every server.
func (c *Cluster) look(ctx context.Context) (all []server, err error) {
	err = c.each(func(s sqlpod.Server) error {
		db := sqlpod.Open(s.Address, Admin)
		defer func() { _ = db.Close() }()
		one := server{pod: s.Pod}
		var err error
		if one.writable, err = sqlpod.Writable(ctx, db); err != nil {
			return err
		}
		if err := db.QueryRowContext(ctx, "SELECT @@server_id").Scan(&one.id); err != nil {
			return err
		}
		one.follows, err = sqlpod.Row(ctx, db, "SHOW REPLICA STATUS")
		all = append(all, one)
		return err
	})
	return all, err
}

// Primary is the pod of the one server that takes writes. With Galera it is the first.
func (c *Cluster) Primary(ctx context.Context) (string, error) {
	if c.Replication == GaleraMembers {
		return c.Sets[0] + "-0", nil
	}
	servers, err := c.look(ctx)
	if err != nil {
		return "", err
	}
	var open []string
	for _, s := range servers {
		if s.writable {
			open = append(open, s.pod)
		}
	}
	if len(open) != 1 {
		return "", fmt.Errorf("want one server that takes writes, got %d: %s", len(open), strings.Join(open, ", "))
	}
	return open[0], nil
}

// says compares a server's answer.
func (c *Cluster) says(ctx context.Context, s sqlpod.Server, query, want string) error {
	db := sqlpod.Open(s.Address, Admin)
	defer func() { _ = db.Close() }()
	var got sql.NullString
	if err := db.QueryRowContext(ctx, query).Scan(&got); err != nil {
		return err
	}
	if got.String != want {
		return fmt.Errorf("says %q, want %q", got.String, want)
	}
	return nil
}
