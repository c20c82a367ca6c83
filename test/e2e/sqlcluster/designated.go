package sqlcluster

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

// Designated does what charts without an operator do: the server of pod 0 is always the primary,
// and the others follow it. It is faster than any such chart: it looks at every server every 200
// ms, and makes it what it is to be.
func (c *Cluster) Designated(ctx context.Context) {
	pools := sqlpod.Pools{Login: Admin}
	defer pools.Close()
	last := map[string]string{}
	for ctx.Err() == nil {
		for _, s := range c.Servers() {
			one, cancel := context.WithTimeout(ctx, 5*time.Second)
			err := c.designate(one, &pools, s)
			cancel()
			if words := fmt.Sprint(err); err != nil && words != last[s.Pod] && ctx.Err() == nil {
				last[s.Pod] = words
				c.Bed.Logf("designated primary: %s: %v", s.Pod, err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (c *Cluster) designate(ctx context.Context, pools *sqlpod.Pools, s sqlpod.Server) error {
	db := pools.Of(s)
	writable, err := sqlpod.Writable(ctx, db)
	if err != nil {
		return err
	}
	if s.Pod == c.Name+"-0" {
		if writable {
			return nil
		}
		_, err = db.ExecContext(ctx, "SET GLOBAL read_only = 0")
		return err
	}
	f, err := sqlpod.Following(ctx, db)
	if err != nil || f.Receiving && f.Applying || f.Source != "" && f.Applying {
		return err // one that waits for its source tries again by itself
	}
	for _, statement := range c.followFirst() {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.40s: %w", statement, err)
		}
	}
	return nil
}

// followFirst has a server follow that of pod 0.
func (c *Cluster) followFirst() []string {
	source := fmt.Sprintf("%s-0.%s.%s", c.Name, c.Name, Namespace)
	if c.Name == MariaDB.Name {
		return []string{"STOP REPLICA", fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%d, MASTER_USER='%s', MASTER_PASSWORD='%s', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1",
			source, Port, Admin.User, Admin.Password), "START REPLICA"}
	}
	return []string{"STOP REPLICA", fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%d, SOURCE_USER='%s', SOURCE_PASSWORD='%s', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=0",
		source, Port, Admin.User, Admin.Password), "START REPLICA"}
}
