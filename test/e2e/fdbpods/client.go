package fdbpods

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// writer is a pod that writes by turns to a hundred keys, each value greater than all before. It gives an operation up after
// three tries of ten seconds, as an application would, and says what became of each.
const writer = `apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: demo, labels: {app: fdb-client}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  securityContext: {runAsUser: 4059, runAsGroup: 4059}
  containers:
    - name: client
      image: docker.io/rollcall-test/foundationdb-real:local
      imagePullPolicy: IfNotPresent
      command:
        - sh
        - -c
        - |
          echo '%[2]s' > /tmp/fdb.cluster
          n=0
          while :; do
            n=$((n + 1)); key=%[1]s-$((n %% 100)); said=; try=0
            while [ $try -lt 3 ]; do
              try=$((try + 1))
              said=$(fdbcli -C /tmp/fdb.cluster --timeout 10 --exec "writemode on; set $key $n" 2>&1)
              case "$said" in *Committed*) break;; esac
            done
            case "$said" in
              *Committed*) echo "acknowledged $key $n $try";;
              *) echo "failed $key $n $(echo $said)";;
            esac
            sleep 0.2
          done
`

// Client is an application that uses the database.
type Client struct {
	on  *Cluster
	pod string
}

// Outcome is what became of a client's writes.
type Outcome struct {
	Acknowledged, Again, Failed, Lost int
	// Words are of the first that failed or was lost.
	Words string
}

func (o Outcome) String() string {
	return fmt.Sprintf("%d writes acknowledged (%d not at the first try), %d failed, %d lost %s", o.Acknowledged, o.Again, o.Failed, o.Lost, o.Words)
}

// StartClient starts one and waits until it has written.
func (c *Cluster) StartClient(ctx context.Context, name string) (*Client, error) {
	s, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Bed.Apply(ctx, fmt.Sprintf(writer, name, s.Cluster.Connection)); err != nil {
		return nil, err
	}
	a := &Client{on: c, pod: name}
	return a, c.Bed.Eventually(ctx, "the client's first writes", 2*time.Minute, func(ctx context.Context) error {
		said, err := a.ledger(ctx)
		if err == nil && !strings.Contains(said, "acknowledged") {
			err = fmt.Errorf("nothing is written: %s", said)
		}
		return err
	})
}

func (a *Client) ledger(ctx context.Context) (string, error) {
	return a.on.Bed.Kubectl(ctx, "", "logs", a.pod, "-n", Namespace, "-c", "client")
}

// Stop ends the client and reads back all that was acknowledged to it.
func (a *Client) Stop(ctx context.Context) (Outcome, error) {
	if err := a.on.Bed.Eventually(ctx, "the client to end", time.Minute, func(ctx context.Context) error {
		_, err := a.on.Bed.Kubectl(ctx, "", "exec", a.pod, "-n", Namespace, "-c", "client", "--", "sh", "-c", "kill 1; pkill -STOP sh || true")
		return err
	}); err != nil {
		return Outcome{}, err
	}
	ledger, err := a.ledger(ctx)
	if err != nil {
		return Outcome{}, err
	}
	said, err := a.on.CLI(ctx, fmt.Sprintf("getrange %[1]s- %[1]s. 1000", a.pod))
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := judge(ledger, said)
	if err != nil {
		return outcome, err
	}
	_, err = a.on.Bed.Kubectl(ctx, "", "delete", "pod", a.pod, "-n", Namespace, "--wait=true", "--timeout=60s")
	return outcome, err
}

// judge compares what was acknowledged with what is there. A value that is later than the acknowledged one was sent, too.
func judge(ledger, there string) (Outcome, error) {
	var o Outcome
	acknowledged, order := map[string]int{}, []string(nil)
	for line := range strings.Lines(ledger) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 4 && fields[0] == "acknowledged":
			n, err := strconv.Atoi(fields[2])
			if err != nil {
				return o, fmt.Errorf("client: %q: %w", line, err)
			}
			if _, again := acknowledged[fields[1]]; !again {
				order = append(order, fields[1])
			}
			acknowledged[fields[1]] = n
			o.Acknowledged++
			if fields[3] != "1" {
				o.Again++
			}
		case len(fields) > 0 && fields[0] == "failed":
			if o.Failed++; o.Words == "" {
				o.Words = strings.TrimSpace(line)
			}
		}
	}
	values := map[string]int{}
	for line := range strings.Lines(there) {
		key, value, found := strings.Cut(strings.TrimSpace(line), "' is `")
		if !found {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSuffix(value, "'"))
		if err != nil {
			return o, fmt.Errorf("getrange: %q: %w", line, err)
		}
		values[strings.TrimPrefix(key, "`")] = n
	}
	for _, key := range order {
		if n, is := values[key]; !is || n < acknowledged[key] {
			if o.Lost++; o.Words == "" {
				o.Words = fmt.Sprintf("%s is %d, %d was acknowledged", key, n, acknowledged[key])
			}
		}
	}
	return o, nil
}
