package sqlcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

// MovePrimary is a person's own switchover, by SQL: the primary is closed, the other is opened when
// it has everything. The sources of the others stay as they are.
func (c *Cluster) MovePrimary(ctx context.Context, to string) error {
	from, err := c.Primary(ctx)
	if err != nil || from == to {
		return err
	}
	c.Bed.Logf("a person moves the primary by SQL: %s -> %s", from, to)
	if err := c.Exec(ctx, from, "SET GLOBAL "+c.closed()+" = 1"); err != nil {
		return err
	}
	position, err := c.position(ctx, from)
	if err != nil {
		return err
	}
	if err := c.reaches(ctx, to, position); err != nil {
		return errors.Join(err, c.Exec(ctx, from, "SET GLOBAL read_only = 0"))
	}
	return c.Exec(ctx, to, "STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only = 0")
}

// closed is the variable that refuses every write.
func (c *Cluster) closed() string {
	if c.Name == MariaDB.Name {
		return "read_only"
	}
	return "super_read_only"
}

// position is what a server has executed.
func (c *Cluster) position(ctx context.Context, pod string) (string, error) {
	variable := "@@GLOBAL.gtid_executed"
	if c.Name == MariaDB.Name {
		variable = "@@GLOBAL.gtid_current_pos"
	}
	return c.Ask(ctx, pod, "SELECT "+variable)
}

// reaches waits until a server has executed a position.
func (c *Cluster) reaches(ctx context.Context, pod, position string) error {
	question := fmt.Sprintf("SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', 15)", position)
	if c.Name == MariaDB.Name {
		question = fmt.Sprintf("SELECT MASTER_GTID_WAIT('%s', 15)", position)
	}
	answer, err := c.Ask(ctx, pod, question)
	if err == nil && answer != "0" {
		err = fmt.Errorf("%s does not reach %s", pod, position)
	}
	return err
}

// Ask returns the one value of a question to a pod's server.
func (c *Cluster) Ask(ctx context.Context, pod, question string) (string, error) {
	db, err := c.Admin(pod)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	var answer string
	if err := db.QueryRowContext(ctx, question).Scan(&answer); err != nil {
		return "", fmt.Errorf("%s: %s: %w", pod, question, err)
	}
	return answer, nil
}

// Delay has a replica apply everything later by this much; 0 means at once.
func (c *Cluster) Delay(ctx context.Context, pod string, by time.Duration) error {
	change := fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_DELAY = %d", int(by.Seconds()))
	if c.Name == MariaDB.Name {
		change = fmt.Sprintf("CHANGE MASTER TO MASTER_DELAY = %d", int(by.Seconds()))
	}
	return c.Exec(ctx, pod, "STOP REPLICA", change, "START REPLICA")
}

// Errs writes to a replica what its source does not have.
func (c *Cluster) Errs(ctx context.Context, pod string) error {
	return c.Exec(ctx, pod, "SET GLOBAL read_only = 0", "CREATE DATABASE errant", "SET GLOBAL "+c.closed()+" = 1")
}

// Heal takes back what Errs wrote, in the way that people do.
func (c *Cluster) Heal(ctx context.Context, pod string) error {
	if c.Name == MariaDB.Name {
		// It starts again from what it has of the primary.
		at, err := c.Ask(ctx, pod, "SELECT @@GLOBAL.gtid_slave_pos")
		if err != nil {
			return err
		}
		return c.Exec(ctx, pod, "STOP REPLICA", "SET SESSION sql_log_bin = 0", "SET GLOBAL read_only = 0", "DROP DATABASE errant", "SET GLOBAL read_only = 1",
			"RESET MASTER", fmt.Sprintf("SET GLOBAL gtid_slave_pos = '%s'", at), "START REPLICA")
	}
	// The primary writes an empty transaction in the place of each.
	primary, err := c.Primary(ctx)
	if err != nil {
		return err
	}
	has, err := c.position(ctx, primary)
	if err != nil {
		return err
	}
	uuid, err := c.Ask(ctx, pod, "SELECT @@server_uuid")
	if err != nil {
		return err
	}
	more, err := c.Ask(ctx, pod, fmt.Sprintf("SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, '%s')", has))
	if err != nil {
		return err
	}
	for _, gtid := range gtids(more, uuid) {
		if err := c.Exec(ctx, primary, fmt.Sprintf("SET SESSION gtid_next = '%s'", gtid), "BEGIN", "COMMIT", "SET SESSION gtid_next = 'AUTOMATIC'"); err != nil {
			return err
		}
	}
	return c.Exec(ctx, primary, "DROP DATABASE IF EXISTS errant")
}

// Hold is an application's transaction that has written something and is open.
type Hold struct {
	end func(context.Context) error
}

// Hold begins one on the primary.
func (c *Cluster) Hold(ctx context.Context, id int64) (*Hold, error) {
	primary, err := c.Primary(ctx)
	if err != nil {
		return nil, err
	}
	address, err := c.Address(primary)
	if err != nil {
		return nil, err
	}
	login := App
	login.Answer = 2 * time.Minute
	db := sqlpod.Open(address, login)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO app.acked (id, tries, sent) VALUES (?, 0, NOW(6))", id); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	c.Bed.Logf("a transaction is open on %s", primary)
	return &Hold{end: func(context.Context) error { return errors.Join(tx.Commit(), db.Close()) }}, nil
}

// Commit it.
func (h *Hold) Commit(ctx context.Context) error { return h.end(ctx) }

// Spoiled is a script that makes a file of which the server does not start any
// more, and a patch of the template that takes it away.
func (f Flavor) Spoiled() (script, repair string) {
	file, rest := Data+"/mysqld-auto.cnf", Data+"/mysqld-auto.cnf"
	if f.Name == MariaDB.Name {
		file, rest = Data+"/aria_log_control", Data+"/aria_log*"
	}
	return "echo spoiled > " + file, fmt.Sprintf(
		`{"spec":{"template":{"spec":{"initContainers":[{"name":"repair","image":%q,"command":["/bin/sh","-c","grep -l spoiled %s && rm -f %s; true"],"volumeMounts":[{"name":"data","mountPath":%q}]}]}}}}`,
		f.image(OldTag), file, rest, Mount)
}
